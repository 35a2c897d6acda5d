"""A repository whose code needs a file that git ignores, and a worker in it."""

from __future__ import annotations

import json

from tests.stories.conftest import Serve
from tests.support.scripts import call, finish, plan_of, script, task, worker
from tests.support.story import Story, git


def test_a_failed_check_names_the_file_that_no_workspace_has(story: Story, model: Serve) -> None:
    """A worker is told that it has no network and which Python it has. The check that fails for a generated file says
    which it is and what makes it, instead of blaming the work alone."""
    (story.repository / ".gitignore").write_text("_made.py\n")
    (story.repository / "tiny.py").write_text("import _made\n")
    git(story.repository, "add", "-A")
    git(story.repository, "commit", "-qm", "tiny")
    (story.repository / "_made.py").write_text("")
    served = model(script(worker("notes", call("write_file", path="NOTES.md", file_text="# Notes\n"), finish())))
    notes = task("notes", writes=["NOTES.md"], more="    max_attempts: 1\n")
    story.plan(plan_of(notes, verification="python3 -c 'import tiny'"))

    assert story.run("execute").returncode == 1

    told = json.dumps(served.requests[0]["messages"][1])
    assert "There is no network" in told and "is Python 3" in told
    [found] = story.ask("MATCH (f:Finding) RETURN f.message AS message")
    assert "_made.py is ignored by git and tiny.py needs it" in found["message"]
    assert 'share = [\\".venv\\"' in json.dumps(found["message"])
