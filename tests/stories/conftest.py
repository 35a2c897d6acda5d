"""Fixtures of the stories: a repository of one's own, and scripted models that end with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agents.chat.scripted import ScriptedModel, serve
from tests.stories.story import Story, make_repository

Serve = Callable[[Mapping[str, Any]], ScriptedModel]


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """A user with a fresh repository and the embedded graph, in sandbox and all."""
    with Story(make_repository(tmp_path / "repository")).closing() as story:
        yield story


@pytest.fixture
def model(story: Story) -> Iterator[Serve]:
    """Serve a script and point the story's roles at it."""
    with ExitStack() as running:

        def start(script: Mapping[str, Any]) -> ScriptedModel:
            served = running.enter_context(serve(script))
            story.use_model(served.base_url)
            return served

        yield start
