"""The demo, run once as a user runs it, for all the tests that look at what it left."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.store.graph_store import GraphStore
from tests.support.story import Story, clean_environment, make_repository


@dataclass(frozen=True)
class Demo:
    """The demo as it ended, and a user in its repository."""

    done: subprocess.CompletedProcess[str]
    story: Story


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """`orchestrate demo` in a folder, a process and with a server of its own."""
    folder = tmp_path_factory.mktemp("demo")
    done = Story(folder).spawn("demo", "--into", "sample")
    with Story(folder / "sample").closing() as story:
        yield Demo(done, story)


@pytest.fixture
def fresh(tmp_path: Path, embedded_home: Path, empty_graph: GraphStore) -> Iterator[Story]:
    """A user in a repository where orchestrate has never run, with an empty graph on this process's server."""
    with Story(make_repository(tmp_path / "repository")).share(embedded_home / "graph").closing() as story:
        yield story


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Story]:
    """A user in a repository where orchestrate has never run, whose server is started and stopped by the test."""
    with Story(make_repository(tmp_path / "repository")).closing() as story:
        yield story


@pytest.fixture
def nowhere(tmp_path: Path) -> Story:
    """A user in a folder that is no repository."""
    return Story(tmp_path, clean_environment(GIT_CEILING_DIRECTORIES=str(tmp_path.parent)))
