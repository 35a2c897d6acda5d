"""The one way git is run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.domain.errors import WorkspaceError
from orchestrator.workspace import diff
from orchestrator.workspace.git import Git
from orchestrator.workspace.worktree import Worktree
from tests.support.repositories import commit, git


def test_failure_carries_gits_own_message(repository: Path) -> None:
    """What git says is in the error, with the command that failed."""
    with pytest.raises(WorkspaceError, match=r"git show failed: fatal: .*nope"):
        Git(git_dir=repository / ".git")("show", "nope")


def test_command_that_hangs_is_ended(workspace: Worktree) -> None:
    """A git command that waits for ever, here on a FIFO, is ended after its time."""
    os.mkfifo(workspace.place.tree / "app" / ".gitignore")
    with pytest.raises(WorkspaceError, match=r"git status took longer than 0\.3 seconds"):
        workspace.place.git("status", seconds=0.3)


def test_callers_variables_and_aliases_are_not_followed(repository: Path, tmp_path: Path) -> None:
    """Neither GIT_* of the caller nor a configured alias or external diff changes what a command does."""
    marker = tmp_path / "ran"
    git(repository, "config", "alias.status", f"!touch {marker}")
    git(repository, "config", "diff.external", f"touch {marker}")
    environ = {"PATH": "/usr/bin:/bin", "GIT_DIR": "/elsewhere", "GIT_EXTERNAL_DIFF": f"touch {marker}"}
    asked = Git(git_dir=repository / ".git", work_tree=repository, environ=environ)
    new = commit(repository, {"README.md": "changed\n"})
    assert asked("status", "--porcelain").text == ""
    assert "+changed" in diff.diff(asked, f"{new}~1", new)
    assert not marker.exists()
