"""Where workspaces stand: how their folders and refs are named, and when they go."""

from __future__ import annotations

import os
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from orchestrator.domain.errors import WorkspaceError
from orchestrator.workspace.workspaces import ShadowWorkspaces
from orchestrator.workspace.worktree_dir import safe_name


@pytest.mark.parametrize(
    ("attempt", "name"), [("p1:add:2", "p1_add_2"), ("p1:v1.2-x:10:pass1", "p1_v1.2-x_10_pass1"), ("w", "w")]
)
def test_a_workspaces_folder_and_ref_are_named_like_its_attempt(attempt: str, name: str) -> None:
    """Who debugs finds refs/orchestrate/attempts/<plan>_<key>_<number>."""
    assert safe_name(attempt) == name


@pytest.mark.parametrize(
    "attempt", ["../x", "a..b", "a.lock", ".a", "a.", "", "a b", "é", "x" * 101, "a\n", "-a", "a/b"]
)
def test_an_id_that_is_no_name_becomes_a_digest(attempt: str) -> None:
    """Neither a folder elsewhere nor a ref that git refuses can come of an id."""
    assert re.fullmatch("x[0-9a-f]{32}", safe_name(attempt))


def test_a_workspace_that_cannot_be_made_is_not_held(workspaces: ShadowWorkspaces) -> None:
    """After a failure the folder is free, so that the next sweep removes it."""
    head = workspaces.resolve("HEAD")
    with pytest.raises(WorkspaceError):
        workspaces.open("broken", "0" * 40, head=head)
    assert list((workspaces.home / "worktrees").iterdir()) != []
    workspaces.sweep()
    assert list((workspaces.home / "worktrees").iterdir()) == []


def test_sweep_keeps_the_living(workspaces: ShadowWorkspaces) -> None:
    """Worktrees that no living process has open go, snapshots stay; sweeping twice is fine."""
    head = workspaces.resolve("HEAD")
    live, dead = workspaces.open("live", head, head=head), workspaces.open("dead", head, head=head)
    dead.write("x", b"1")
    tree = dead.snapshot(["x"])
    dead.held.close()  # what the kernel does for a process that dies
    for _ in range(2):
        workspaces.sweep()
    assert live.place.tree.exists()
    assert not dead.place.folder.exists()
    assert not dead.place.git_dir.exists()
    assert workspaces.git("cat-file", "-t", tree).text == "tree"
    dead.close()


def test_sweeping_never_takes_a_workspace_that_is_being_opened(workspaces: ShadowWorkspaces) -> None:
    """A sweep at any moment of another thread's opening leaves that workspace whole."""
    head = workspaces.resolve("HEAD")
    over = threading.Event()

    def sweep() -> None:
        while not over.is_set():
            workspaces.sweep()

    with ThreadPoolExecutor(1) as pool:
        sweeping = pool.submit(sweep)
        opened = [workspaces.open(f"a{number}", head, head=head) for number in range(20)]
        over.set()
        sweeping.result()
    assert all(workspace.snapshot() == workspaces.tree_of(head) for workspace in opened)
    for workspace in opened:
        workspace.close()


def test_close_removes_what_a_worker_locked(workspaces: ShadowWorkspaces) -> None:
    """Folders without rights and folders nested thousands deep are removed too."""
    head = workspaces.resolve("HEAD")
    workspace = workspaces.open("deep", head, head=head)
    deep = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')"
    python = os.path.realpath(sys.executable)  # a virtual environment may stand where the sandbox shows nothing
    said = workspace.run(f'mkdir -p closed/in && chmod 000 closed && {python} -c "{deep}"')
    assert said.exit_code == 0, said
    workspace.close()
    workspace.close()
    assert not workspace.place.folder.exists()


def test_odd_attempt_ids_are_safe(workspaces: ShadowWorkspaces) -> None:
    """An id that is no plain name leads to no other folder or ref."""
    head = workspaces.resolve("HEAD")
    workspace = workspaces.open("../../é x:~^", head, head=head)
    assert workspace.place.folder.parent == workspaces.home / "worktrees"
    workspace.write("a", b"1")
    assert workspace.snapshot(["a"]) == workspace.snapshot()
