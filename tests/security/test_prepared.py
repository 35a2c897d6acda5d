"""Attacks by way of what a workspace has beside its tracked files: prepared and shared folders, and their places."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.workspace.workspaces import ShadowWorkspaces
from orchestrator.workspace.worktree import Worktree
from tests.security.conftest import Opened
from tests.support.repositories import commit, git

SETUP = "test ! -e setup.py || sh setup.py"
IGNORED = {".gitignore": "node_modules\n.venv\n*.made\n"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """What lies in the user's home: a key, and a folder that is not to be written."""
    (tmp_path / ".ssh" / "bin").mkdir(parents=True)
    (tmp_path / ".ssh" / "id_rsa").write_text("hunter2")
    (tmp_path / ".ssh" / "bin" / "tool").write_text("x")
    return tmp_path


def handed_in(workspaces: ShadowWorkspaces, workspace: Worktree, name: str = "check") -> Worktree:
    """The checkout of what the workspace holds, as checks have it."""
    return workspaces.open(name, workspace.snapshot(), head=workspaces.resolve("HEAD"))


def test_what_prepare_links_to_is_not_shown(opened: Opened, repository: Path, home: Path) -> None:
    """A manifest that a worker writes may leave links in ignored places: to the home, to its parents, in the place of a
    virtual environment's interpreter. None of them is resolved on the host."""
    commit(repository, IGNORED)
    workspaces, workspace = opened(prepare=(SETUP,))
    links = f"""ln -s {home}/.ssh node_modules; mkdir sub.made; ln -s {home}/.ssh sub.made/keys
        mkdir -p .venv/bin; ln -s {home}/.ssh/bin/tool .venv/bin/python"""
    workspace.write("setup.py", links.encode())
    with closing(handed_in(workspaces, workspace)) as check:
        said = check.run(f"ls -A . sub.made; cat node_modules/id_rsa sub.made/keys/id_rsa {home}/.ssh/id_rsa")
    assert "sub.made" in said.output
    assert "hunter2" not in said.output


def test_what_was_prepared_is_not_copied_through_a_link(opened: Opened, repository: Path, home: Path) -> None:
    """A tree whose ignored folder is a link gets nothing of what was prepared: it is written through no link."""
    made = "for each in node_modules sub/node_modules; do mkdir -p $each; echo x > $each/key; done"
    commit(repository, IGNORED | {"setup.py": made, "sub/kept": ""})
    workspaces, workspace = opened(prepare=(SETUP,))
    assert workspace.run("cat node_modules/key sub/node_modules/key").output == "x\nx\n"
    workspace = workspaces.open("bare", workspaces.resolve("HEAD~1"), head=workspaces.resolve("HEAD~1"))
    workspace.write("setup.py", made.encode())
    workspace.run(f"ln -s {home}/.ssh node_modules; ln -s {home}/.ssh sub")
    tree = workspace.snapshot(["node_modules", "sub", "setup.py"])
    workspace.close()
    with closing(workspaces.open("check", tree, head=workspaces.resolve("HEAD"))) as check:
        check.run("true")
    assert sorted(entry.name for entry in (home / ".ssh").iterdir()) == ["bin", "id_rsa"]


def test_what_one_tree_made_is_not_shown_to_another(opened: Opened, repository: Path) -> None:
    """Of two trees with the same changed manifest each has what its own files made; the user's own commit has what it
    made itself, whatever was tried before; what was made of a tree is gone with the last workspace of it."""
    commit(repository, IGNORED | {"package.json": "{}", "build.sh": "echo base > out.made"})
    workspaces, workspace = opened(prepare=("sh build.sh",))

    def made(name: str, **files: str) -> str:
        for path, text in files.items():
            workspace.write(path.replace("_", "."), text.encode())
        with closing(handed_in(workspaces, workspace, name)) as check:
            return check.run("cat out.made").output

    assert made("hostile", package_json="{ }", build_sh="echo POISONED > out.made") == "POISONED\n"
    assert made("honest", package_json="{ }", build_sh="echo good > out.made") == "good\n"
    assert made("same manifests", package_json="{}", build_sh="echo POISONED > out.made") == "base\n"
    assert [entry.name for entry in workspaces.home.joinpath("worktrees").glob("tried-*")] == []


def test_a_link_of_a_clone_is_not_shared(opened: Opened, repository: Path, home: Path) -> None:
    """A tracked link in the place of a shared folder shows nothing, also after a worker has removed it; an ignored one
    that leads out of the checkout is shown once `sandbox.read_paths` names where it leads."""
    (repository / ".venv").symlink_to(home / ".ssh")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "a link")
    workspaces, workspace = opened()
    workspace.delete(".venv")
    with closing(handed_in(workspaces, workspace)) as check:
        assert "hunter2" not in check.run("cat .venv/id_rsa .venv/*").output
    commit(repository, IGNORED)
    git(repository, "rm", "-q", "--cached", ".venv")
    git(repository, "commit", "-qm", "not tracked any more")
    workspaces, workspace = opened()
    assert "hunter2" not in workspace.run("cat .venv/id_rsa").output
    if workspace.sandbox.level == "bubblewrap":
        assert "leads to" in " ".join(workspaces.remarks) and "sandbox.read_paths" in " ".join(workspaces.remarks)


def test_a_place_that_a_command_moved_makes_nothing_on_the_host(opened: Opened, repository: Path, home: Path) -> None:
    """A link in the place of a mount leads to no folder of the machine, while the sandbox is being set up; neither that
    command nor the next, nor a checkout of such a tree, ends the run."""
    commit(repository, IGNORED | {"sub/kept": ""})
    (repository / "sub" / "node_modules").mkdir()
    (repository / "sub" / "node_modules" / "library.js").write_text("shared")
    victim = home / "victim"
    victim.mkdir()
    workspaces, workspace = opened(share=("sub/node_modules",))
    workspace.run(f"mv sub sub2; ln -s /oldroot{victim} sub || ln -s {victim} sub")
    assert workspace.run("echo still").output == "still\n"
    workspace.run(f"rm sub; ln -s {victim} sub")
    assert workspace.run("echo still").output == "still\n"
    with closing(handed_in(workspaces, workspace)) as check:
        assert check.run("echo still").output == "still\n"
    assert list(victim.iterdir()) == []
