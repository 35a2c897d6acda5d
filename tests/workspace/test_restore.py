"""A workspace is made again what it was opened as, whatever a command did in it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.domain.errors import WorkspaceError
from orchestrator.workspace.sandbox import SandboxLevel, probe_sandbox
from orchestrator.workspace.workspaces import open_workspaces
from orchestrator.workspace.worktree import Worktree
from tests.support.repositories import commit, discovered, git

SPOILS = """
printf 'x' >> README.md; chmod 000 app/main.py; touch -r .git README.md
rm -rf tests && ln -s app tests
mkdir -p build/deep; echo x > build/deep/x.pyc; echo x > 'odd \\n name'; ln README.md hard; mkfifo pipe
mv lib gone && mkdir lib.py; rm other.py && mkdir other.py && echo x > other.py/__init__.py
mkdir app/.git && echo x > app/.git/config; mkdir empty; chmod 000 app
"""
FILES = {
    "tests/test_a.py": "assert 1\n",
    "lib/a.py": "a\n",
    "other.py": "o\n",
    "run.sh": "#!/bin/sh\n",
    ".gitignore": "build/\n*.pyc\nsecret.env\n",
}


def listed(root: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below a folder, with its kind, what its owner may, and its content."""
    found = {}
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            content = path.read_bytes() if stat.S_ISREG(mode) else b""
            found[str(path.relative_to(root))] = (mode & ~0o077, content)
    return found


@pytest.mark.parametrize("level", ["bubblewrap", "landlock", "none"])
def test_nothing_of_what_a_command_did_stays(repository: Path, level: SandboxLevel) -> None:
    """Files are what they were, with their modes; links, pipes, folders in their places and what git ignores are gone;
    shared files are as they were shared. A second time nothing is to do."""
    if not (tried := probe_sandbox(level)).works:
        pytest.skip(f"NOT TESTED HERE: {tried.reason}")
    commit(repository, FILES)
    (repository / "secret.env").write_text("shared")
    found = discovered(repository)
    asked = {"sandbox": {"level": level}, "workspace": {"share": ["secret.env"]}}
    workspaces = open_workspaces(found, found.home, Settings.model_validate(asked))
    head = workspaces.resolve("HEAD")
    workspace = workspaces.open("attempt1", head, head=head)
    before = listed(workspace.place.tree)

    workspace.run(f"echo other > secret.env; {SPOILS}")
    assert listed(workspace.place.tree) != before
    for _ in range(2):
        workspace.restore()
        assert listed(workspace.place.tree) == before
    assert workspace.changes(head, workspace.snapshot()) == ()
    assert workspace.run("cat tests/test_a.py secret.env").output == "assert 1\nshared"
    workspace.close()


def test_a_submodule_is_an_empty_folder_again(repository: Path) -> None:
    """Its place is a folder that git fills for nobody here."""
    (repository / "sub").mkdir()
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{git(repository, 'rev-parse', 'HEAD')},sub")
    git(repository, "commit", "-qm", "A submodule")
    found = discovered(repository)
    workspaces = open_workspaces(found, found.home, Settings())
    head = workspaces.resolve("HEAD")
    workspace = workspaces.open("attempt1", head, head=head)

    workspace.run("echo x > sub/x; echo x > README.md")
    workspace.restore()

    assert list((workspace.place.tree / "sub").iterdir()) == []
    assert workspace.read("README.md") != b"x\n"
    workspace.close()


def test_a_workspace_that_is_gone_is_an_error(workspace: Worktree) -> None:
    """Its folder was removed: the attempt ends, and no other."""
    workspace.run("rm -rf app README.md")
    workspace.place.remove()
    with pytest.raises(WorkspaceError):
        workspace.restore()
