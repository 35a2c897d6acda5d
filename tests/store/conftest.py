"""A home whose embedded server's life is the test's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.store.embedded.server import embedded_stop


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home of this test alone; its server is stopped at the end."""
    yield tmp_path / "home"
    embedded_stop(tmp_path / "home")
