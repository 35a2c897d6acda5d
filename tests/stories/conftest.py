"""Fixtures of the stories: a repository of one's own, and scripted models that end with the test."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agents.scripted.server import ScriptedModel, serve
from orchestrator.store.graph_store import GraphStore
from tests.support.graph_servers import EVERYTHING
from tests.support.replays import assert_replay_agrees
from tests.support.story import Story, make_repository

Serve = Callable[[Mapping[str, Any]], ScriptedModel]


_PASSED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember for the fixtures whether the test itself passed."""
    report = yield
    if report.when == "call":
        item.stash[_PASSED] = report.passed
    return report


@pytest.fixture
def story(
    tmp_path: Path, request: pytest.FixtureRequest, embedded_home: Path, empty_graph: GraphStore
) -> Iterator[Story]:
    """A user with a fresh repository and an empty graph on this process's embedded server, in sandbox and all. At the
    end of a test that passed, the guards' verdicts of every attempt are compared with a replay's."""
    repository = make_repository(tmp_path / "repository")
    with Story(repository).share(embedded_home / "graph").closing() as story:
        yield story
        if request.node.stash.get(_PASSED, False):
            assert_replay_agrees(empty_graph)


@pytest.fixture(scope="module")
def lasting_graph(embedded_home: Path, embedded_graph: GraphStore) -> Path:
    """The folder of this process's embedded server, emptied, for one story that all tests of a file look at: none of
    them may ask for `story`, which empties it again."""
    embedded_graph.query(EVERYTHING, write=True)
    return embedded_home / "graph"


@pytest.fixture
def model(story: Story) -> Iterator[Serve]:
    """Serve a script and point the story's roles at it."""
    with ExitStack() as running:

        def start(script: Mapping[str, Any]) -> ScriptedModel:
            served = running.enter_context(serve(script))
            story.use_model(served.base_url)
            return served

        yield start
