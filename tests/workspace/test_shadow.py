"""The Shadow: bringing commits in, merging, delivering, many at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.domain.errors import UserError
from orchestrator.workspace.workspaces import ShadowWorkspaces, open_workspaces
from tests.support.repositories import commit, discovered, fingerprint, git, make_repository

TRAILERS = {"Orchestrate-Run": "r1", "Orchestrate-Task": "t1", "Orchestrate-Attempt": "a1"}


def change(workspaces: ShadowWorkspaces, head: str, files: dict[str, bytes], name: str = "work") -> str:
    """The tree of `head` with some files written."""
    workspace = workspaces.open(name, head, head=head)
    for path, content in files.items():
        workspace.write(path, content)
    tree = workspace.snapshot(list(files))
    workspace.close()
    return tree


def merged(workspaces: ShadowWorkspaces, head: str, files: dict[str, bytes], base: str | None = None) -> str:
    """A commit on `head` with the files as changed from `base`."""
    tree = change(workspaces, base or head, files)
    result = workspaces.merge(head=head, base=base or head, tree=tree, message="Do it", trailers=TRAILERS)
    assert result.commit, result
    return result.commit


def test_new_commits_are_brought_in(workspaces: ShadowWorkspaces, repository: Path) -> None:
    """A commit made after the Shadow is resolved, also one that no branch holds any more."""
    new = commit(repository, {"later.txt": "later"})
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    assert workspaces.resolve(new) == new
    assert workspaces.git("cat-file", "blob", f"{new}:later.txt").text == "later"


@pytest.mark.parametrize("revision", ["nope", "-x", "--all", "HEAD:app", "", "HEAD~99"])
def test_unknown_revision_is_the_users_to_mend(workspaces: ShadowWorkspaces, revision: str) -> None:
    """What names no commit is one clear error, never an option of git's."""
    with pytest.raises(UserError, match="There is no commit"):
        workspaces.resolve(revision)


def test_shadow_shares_objects_by_hard_links(workspaces: ShadowWorkspaces, repository: Path) -> None:
    """The clone costs no second copy."""
    git(repository, "gc", "-q")
    found = discovered(repository)
    again = open_workspaces(found, repository.parent / "home2", Settings())
    [pack] = (again.git_dir / "objects" / "pack").glob("*.pack")
    assert pack.stat().st_nlink > 1


def test_merge_keeps_both_sides(workspaces: ShadowWorkspaces) -> None:
    """What the run and the attempt changed apart is in one commit on the head, with trailers and the user's name."""
    base = workspaces.resolve("HEAD")
    head = merged(workspaces, base, {"one.txt": b"1"})
    both = merged(workspaces, head, {"two.txt": b"2"}, base)
    show = workspaces.git("show", "-s", "--format=%P%n%an <%ae>%n%B", both).text
    assert show.splitlines()[:2] == [head, "Ada <ada@example.org>"]
    assert show.endswith("Orchestrate-Run: r1\nOrchestrate-Task: t1\nOrchestrate-Attempt: a1")
    assert workspaces.git("ls-tree", "-r", "--name-only", both).text.split()[-2:] == ["one.txt", "two.txt"]
    workspaces.git("gc", "--quiet", "--prune=now")
    assert workspaces.tree_of(both)


def test_merge_conflict_names_its_paths(workspaces: ShadowWorkspaces) -> None:
    """Both sides changed the same lines: no commit, the paths instead."""
    base = workspaces.resolve("HEAD")
    head = merged(workspaces, base, {"README.md": b"theirs\n", "é x": b"1"})
    tree = change(workspaces, base, {"README.md": b"ours\n", "é x": b"2"})
    result = workspaces.merge(head=head, base=base, tree=tree, message="m", trailers={})
    assert result.commit is None
    assert set(result.conflicts) == {"README.md", "é x"}


def test_trailers_cannot_be_forged_by_a_value(workspaces: ShadowWorkspaces) -> None:
    """A newline in a trailer's value starts no second trailer."""
    base = workspaces.resolve("HEAD")
    tree = change(workspaces, base, {"x": b"1"})
    made = workspaces.merge(head=base, base=base, tree=tree, message="m", trailers={"A": "x\nB: y"})
    assert workspaces.git("log", "-1", "--format=%(trailers)", made.commit or "").text.strip() == "A: x B: y"


def test_delivery_is_idempotent_and_touches_only_the_branch(workspaces: ShadowWorkspaces, repository: Path) -> None:
    """The branch appears in the user's repository; checkout, index and other refs stay byte for byte."""
    before = fingerprint(repository)
    first = merged(workspaces, workspaces.resolve("HEAD"), {"one.txt": b"1"})
    second = merged(workspaces, first, {"two.txt": b"2"})
    for commit_id in (first, first, second, second):
        workspaces.deliver("orchestrate/r1", commit_id)
        assert git(repository, "rev-parse", "orchestrate/r1") == commit_id
    after = fingerprint(repository)
    assert all(after[name] == content for name, content in before.items())
    assert {name.split("/")[1] for name in after.keys() - before.keys()} <= {"objects", "refs", "logs"}


def test_delivery_runs_no_hook_of_the_user(workspaces: ShadowWorkspaces, repository: Path, tmp_path: Path) -> None:
    """Hooks are off when the branch is delivered."""
    for name in ("reference-transaction", "post-update", "update"):
        hook = repository / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
        hook.chmod(0o755)
    workspaces.deliver("orchestrate/r1", merged(workspaces, workspaces.resolve("HEAD"), {"x": b"1"}))
    assert not (tmp_path / "ran").exists()


def test_branch_that_the_user_moved_is_refused(workspaces: ShadowWorkspaces, repository: Path) -> None:
    """A branch with the user's commits, or put back by them, is not moved; the message says how to go on."""
    first = merged(workspaces, workspaces.resolve("HEAD"), {"one.txt": b"1"})
    workspaces.deliver("orchestrate/r1", first)
    second = merged(workspaces, first, {"two.txt": b"2"})
    git(repository, "branch", "-f", "orchestrate/r1", "HEAD")
    with pytest.raises(UserError, match=r"not moved.*git branch -m"):
        workspaces.deliver("orchestrate/r1", second)
    git(repository, "branch", "-m", "orchestrate/r1", "mine")
    workspaces.deliver("orchestrate/r1", second)
    assert git(repository, "rev-parse", "orchestrate/r1") == second


def test_branch_that_is_checked_out_is_refused(workspaces: ShadowWorkspaces, repository: Path, tmp_path: Path) -> None:
    """Also in a linked worktree; the folder is named, and after the switch it works."""
    first = merged(workspaces, workspaces.resolve("HEAD"), {"one.txt": b"1"})
    workspaces.deliver("orchestrate/r1", first)
    git(repository, "worktree", "add", "-q", str(tmp_path / "look"), "orchestrate/r1")
    second = merged(workspaces, first, {"two.txt": b"2"})
    with pytest.raises(UserError, match=r"checked out in .*look"):
        workspaces.deliver("orchestrate/r1", second)
    git(tmp_path / "look", "checkout", "-q", "--detach")
    workspaces.deliver("orchestrate/r1", second)


def test_branch_in_the_way_is_named(workspaces: ShadowWorkspaces, repository: Path) -> None:
    """A user's branch named `orchestrate` leaves no room for orchestrate/<run>: git's reason and the way out."""
    first = merged(workspaces, workspaces.resolve("HEAD"), {"one.txt": b"1"})
    git(repository, "branch", "orchestrate")
    with pytest.raises(UserError, match="could not be delivered"):
        workspaces.deliver("orchestrate/r1", first)


def test_delivery_survives_a_lost_shadow(workspaces: ShadowWorkspaces, repository: Path) -> None:
    """A branch that is ours by ancestry goes on after the Shadow was made anew."""
    first = merged(workspaces, workspaces.resolve("HEAD"), {"one.txt": b"1"})
    workspaces.deliver("orchestrate/r1", first)
    again = open_workspaces(discovered(repository), repository.parent / "home2", Settings())
    again.resolve(first)
    second = merged(again, first, {"two.txt": b"2"})
    again.deliver("orchestrate/r1", second)
    assert git(repository, "rev-parse", "orchestrate/r1") == second


def test_many_threads_share_the_shadow(workspaces: ShadowWorkspaces) -> None:
    """Eight threads open, snapshot, merge and deliver at once without a failure or a wrong tree."""
    head = workspaces.resolve("HEAD")
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            workspace = workspaces.open(f"t{number}", head, head=head)
            for step in range(5):
                workspace.write("f", f"{number}.{step}".encode())
                tree = workspace.snapshot(["f"] if step % 2 else None)
                assert workspaces.git("cat-file", "blob", f"{tree}:f").text == f"{number}.{step}"
            made = workspaces.merge(head=head, base=head, tree=tree, message="m", trailers={})
            workspaces.deliver(f"orchestrate/t{number}", made.commit or "")
            workspace.close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_processes_that_start_at_once_make_one_shadow(repository: Path) -> None:
    """Four processes open the workspaces of a repository at the same time; all find the same Shadow, whole."""
    code = (
        "import os, sys; from pathlib import Path\n"
        "from orchestrator.workspace.repository import discover\n"
        "from orchestrator.workspace.workspaces import open_workspaces\n"
        "from orchestrator.config.settings import Settings\n"
        "found = discover(Path(sys.argv[1]), os.environ)\n"
        "print(open_workspaces(found, found.home, Settings()).resolve('HEAD'))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(repository)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = {process.communicate()[0].strip() for process in running}
    assert said == {git(repository, "rev-parse", "HEAD")}


def test_hostile_dotgit_in_a_worktree_is_never_consulted(workspaces: ShadowWorkspaces, tmp_path: Path) -> None:
    """A re-created .git with core.fsmonitor, hooks and core.worktree set runs nothing through our own git
    , and the snapshot is still the worktree's."""
    head = workspaces.resolve("HEAD")
    workspace = workspaces.open("hostile", head, head=head)
    evil, marker = workspace.place.tree / ".git", tmp_path / "pwned"
    evil.unlink()
    make_repository(tmp_path / "template")
    (tmp_path / "template" / ".git").rename(evil)
    git(workspace.place.tree, "config", "core.fsmonitor", f"touch {marker}; false")
    git(workspace.place.tree, "config", "core.worktree", "/")
    (evil / "hooks").mkdir(exist_ok=True)
    (evil / "hooks" / "post-index-change").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (evil / "hooks" / "post-index-change").chmod(0o755)
    workspace.write("x", b"1")
    tree = workspace.snapshot()
    assert [change.path for change in workspace.changes(workspaces.tree_of(head), tree)] == ["x"]
    assert workspace.files("x") == ("x",)
    assert workspace.search("1", "x") == ("x:1:1",)
    workspace.diff(workspaces.tree_of(head), tree)
    assert not marker.exists()


def test_umask_and_owner_keep_the_home_private(workspaces: ShadowWorkspaces) -> None:
    """ORCHESTRATE_HOME is the user's alone."""
    assert workspaces.home.stat().st_mode & 0o077 == 0
    assert workspaces.home.stat().st_uid == os.geteuid()


def test_an_older_delivery_that_comes_late_moves_nothing_back(workspaces: ShadowWorkspaces, repository: Path) -> None:
    """Two tasks accepted at once deliver in any order: the branch stands at the newer commit."""
    head = workspaces.resolve("HEAD")
    older = merged(workspaces, head, {"one.txt": b"1"})
    newer = merged(workspaces, older, {"two.txt": b"2"})
    workspaces.deliver("orchestrate/r1", newer)

    workspaces.deliver("orchestrate/r1", older)

    assert git(repository, "rev-parse", "orchestrate/r1") == newer
