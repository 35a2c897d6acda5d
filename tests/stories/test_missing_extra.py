"""A wire whose package is not installed: told before anything is asked, and nothing is lost."""

from __future__ import annotations

import sys

import pytest

from tests.stories.conftest import Serve
from tests.stories.test_bad_endpoints import PLAN, WRITE
from tests.support.scripts import finish, review, script, worker
from tests.support.story import Story, complaint


def test_a_run_waits_for_the_extra(story: Story, model: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 2 with the command that installs it; the same call goes on once it is there."""
    served = model(script(worker("subtract", WRITE, finish()), review()))
    story.environ["ORCHESTRATE_MODELS_API"] = "messages"
    story.plan(PLAN)
    with monkeypatch.context() as missing:
        missing.setitem(sys.modules, "anthropic", None)
        assert "pip install 'orchestrate[anthropic]'" in complaint(story.run("execute"), 2)
        assert served.requests == []
    story.ok("execute")
    assert {path.partition("?")[0] for path in served.paths} == {"/v1/messages"}
