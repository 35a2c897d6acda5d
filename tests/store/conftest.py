"""Homes of embedded servers whose lives are the tests'."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.store.embedded.server import embedded_stop


@pytest.fixture
def new_home(tmp_path: Path) -> Iterator[Path]:
    """A home of this test alone; its server is stopped at the end."""
    yield tmp_path / "home"
    embedded_stop(tmp_path / "home")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home that the tests of a module use one after the other: what each leaves, a server that runs or none, is what
    the next finds. A start takes seconds."""
    folder = tmp_path_factory.mktemp("store") / "home"
    yield folder
    embedded_stop(folder)
