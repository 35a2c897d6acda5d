"""Snapshots: both ways give one tree, and none is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.config.settings import Settings
from orchestrator.domain.errors import ToolError, WorkspaceError
from orchestrator.workspace import snapshots
from orchestrator.workspace.workspaces import ShadowWorkspaces, open_workspaces
from orchestrator.workspace.worktree import Worktree
from tests.support.repositories import git

NAMES = st.sampled_from(["a", "b", "é file", "d/a", "d/b", "d/e/f", "x.log", "cache/x", "new\nline", "app/main.py"])
CONTENTS = st.sampled_from([b"", b"one\n", b"two\r\n", b"\0\xff", b"  one\n"])
EDIT = st.one_of(
    st.tuples(st.just("write"), NAMES, CONTENTS),
    st.tuples(st.just("delete"), NAMES, st.just(b"")),
    st.tuples(st.just("executable"), NAMES, st.just(b"")),
    st.tuples(st.just("link"), NAMES, st.just(b"")),
)


def apply(workspace: Worktree, kind: str, name: str, content: bytes) -> None:
    """One edit as a file tool or a command would make it; what is impossible is left out."""
    path = workspace.place.tree / name
    try:
        if kind == "write":
            workspace.write(name, content)
        elif kind == "delete":
            workspace.delete(name)
        elif kind == "executable":
            path.chmod(0o755)
        elif not path.exists() and path.parent.is_dir():
            path.symlink_to("target")
    except (ToolError, OSError):
        return


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(EDIT, max_size=8))
def test_both_ways_give_the_same_tree(workspaces: ShadowWorkspaces, edits: list[tuple[str, str, bytes]]) -> None:
    """A snapshot of the touched paths equals one that looks everywhere, whatever was edited."""
    head = workspaces.resolve("HEAD")
    workspace = workspaces.open("property", head, head=head)
    touched: list[str] = []
    for kind, name, content in edits:
        apply(workspace, kind, name, content)
        touched.append(name)
        assert workspace.snapshot([name]) == workspace.snapshot(touched)
    assert workspace.snapshot(touched) == workspace.snapshot()


def test_snapshot_equals_gits_own_tree(workspace: Worktree, repository: Path) -> None:
    """The same content committed by the user's git has the same tree id."""
    for root in (workspace.place.tree, repository):
        (root / "sub").mkdir()
        (root / "sub" / "crlf.txt").write_bytes(b"a\r\nb\n")
        (root / "run").write_text("#!/bin/sh\n")
        (root / "run").chmod(0o755)
        (root / "link").symlink_to("app/main.py")
    git(repository, "add", "-A")
    assert workspace.snapshot() == git(repository, "write-tree")


def test_content_is_kept_byte_for_byte(workspace: Worktree) -> None:
    """A .gitattributes that converts line ends, keywords or encodings, or names a filter, changes nothing."""
    workspace.write(".gitattributes", b"* text eol=crlf ident filter=evil working-tree-encoding=UTF-16\n")
    workspace.write("f.txt", b"$Id$\r\nx\n")
    touched = workspace.snapshot([".gitattributes", "f.txt"])
    assert workspace.snapshot() == touched


def test_ignored_files_stay_out_unless_a_tool_wrote_them(workspace: Worktree) -> None:
    """What commands leave in ignored places is not in the snapshot, what a file tool wrote there is."""
    start = workspace.snapshot()
    (workspace.place.tree / "cache").mkdir()
    (workspace.place.tree / "cache" / "left").write_text("by a command")
    assert workspace.snapshot() == start
    workspace.write("cache/written", b"by a tool")
    after = workspace.snapshot()
    assert [change.path for change in workspace.changes(start, after)] == ["cache/written"]
    assert workspace.snapshot(["cache/written"]) == after


def test_users_own_ignore_rules_apply(workspaces: ShadowWorkspaces, repository: Path) -> None:
    """What info/exclude of the user's repository ignores is ignored in a worktree too."""
    (repository / ".git" / "info" / "exclude").write_text("private/\n")
    again = open_workspaces(workspaces.repository, workspaces.home, Settings())
    head = again.resolve("HEAD")
    workspace = again.open("a", head, head=head)
    (workspace.place.tree / "private").mkdir()
    (workspace.place.tree / "private" / "x").write_text("x")
    assert workspace.snapshot() == again.tree_of(head)


@pytest.mark.parametrize("name", [".git", ".GIT", ".Git ", "git~1"])
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_nested_git_is_found_before_the_snapshot(workspace: Worktree, name: str, kind: str) -> None:
    """A nested .git of any spelling is an error that names it; removed, the snapshot works again."""
    (workspace.place.tree / "sub" / "x").mkdir(parents=True)
    nested = workspace.place.tree / "sub" / "x" / name
    nested.mkdir() if kind == "folder" else nested.write_text("gitdir: /elsewhere")
    with pytest.raises(ToolError, match=f"sub/x/{name}"):
        workspace.snapshot()
    nested.rmdir() if kind == "folder" else nested.unlink()
    workspace.snapshot()


def test_nested_git_in_an_ignored_folder_may_stand(workspace: Worktree) -> None:
    """A package cache with clones in it, in a folder that git ignores, hides nothing."""
    (workspace.place.tree / "cache" / "clone" / ".git").mkdir(parents=True)
    assert workspace.snapshot() == workspace.snapshot([])


def test_tracked_files_do_not_hide_behind_a_nested_git(workspace: Worktree) -> None:
    """A .git beside tracked files is found although a new rule ignores their folder."""
    (workspace.place.tree / "app" / ".git").mkdir()
    (workspace.place.tree / ".gitignore").write_text("app/\n")
    with pytest.raises(ToolError, match=r"app/\.git"):
        workspace.snapshot()


def test_rules_file_that_would_hang_git_is_refused(workspace: Worktree) -> None:
    """A FIFO named .gitignore is named, not waited for."""
    os.mkfifo(workspace.place.tree / "app" / ".gitignore")
    with pytest.raises(ToolError, match=r"app/\.gitignore"):
        workspace.snapshot()


def test_unreadable_files_are_made_readable(workspace: Worktree) -> None:
    """A worker's chmod 000 neither hides a change nor ends the attempt."""
    secret = workspace.place.tree / "closed" / "file"
    secret.parent.mkdir()
    secret.write_text("x")
    secret.chmod(0)
    secret.parent.chmod(0)
    changed = workspace.changes(workspace.snapshot([]), workspace.snapshot())
    assert [change.path for change in changed] == ["closed/file"]


def counted(workspace: Worktree, numbers: range) -> list[str]:
    """Snapshots of a file that says each of the numbers, as a file tool makes them."""
    trees = []
    for number in numbers:
        workspace.write("counter", str(number).encode())
        trees.append(workspace.snapshot(["counter"]))
    return trees


def kept(workspaces: ShadowWorkspaces, tree: str) -> bool:
    """Whether the Shadow still holds all of a tree."""
    return workspaces.git.ask("cat-file", "blob", f"{tree}:counter").code == 0


def prune(workspaces: ShadowWorkspaces) -> None:
    """What a person can do to the Shadow: throw away whatever no ref names, however young."""
    workspaces.git("gc", "--quiet", "--prune=now")


def test_every_snapshot_of_a_closed_workspace_survives_gc(workspaces: ShadowWorkspaces, workspace: Worktree) -> None:
    """git gc --prune=now in the Shadow loses none of an attempt's snapshots, of whole groups and of the last part."""
    trees = counted(workspace, range(20))
    workspace.write("counter", b"looked for everywhere")
    trees += [workspace.snapshot(), *counted(workspace, range(20, 23))]
    workspace.close()
    prune(workspaces)
    assert all(kept(workspaces, tree) for tree in trees)


def test_snapshots_are_anchored_in_groups(workspaces: ShadowWorkspaces, workspace: Worktree) -> None:
    """The ref moves at every sixteenth snapshot, and with one that looks everywhere: the tree that is handed in."""

    def anchored() -> str:
        return workspaces.tree_of("refs/orchestrate/attempts/attempt1")

    start = anchored()
    trees = counted(workspace, range(17))
    assert start == workspaces.tree_of("HEAD")
    assert anchored() == trees[15]
    assert workspace.snapshot() == trees[16] == anchored()


def test_a_killed_attempts_snapshots_stay(workspaces: ShadowWorkspaces) -> None:
    """Without the ref they outlive a usual git gc; pruned by hand, the one that the next attempt starts from stays."""
    head = workspaces.resolve("HEAD")
    killed = workspaces.open("killed", head, head=head)
    trees = counted(killed, range(5))
    killed.held.close()  # what the kernel does for a process that dies
    workspaces.sweep()
    workspaces.git("gc", "--quiet")
    assert all(kept(workspaces, tree) for tree in trees)
    following = workspaces.open("following", trees[-1], head=head)
    prune(workspaces)
    assert [kept(workspaces, tree) for tree in trees] == [False] * 4 + [True]
    following.close()


def test_reopened_attempt_keeps_its_earlier_snapshots(workspaces: ShadowWorkspaces, workspace: Worktree) -> None:
    """Opening the same attempt again goes on with its chain and starts from the given content."""
    workspace.write("kept", b"1")
    tree = workspace.snapshot(["kept"])
    again = workspaces.open("attempt1", tree, head=workspaces.resolve("HEAD"))
    assert again.read("kept") == b"1"
    assert again.snapshot() == tree
    again.delete("kept")
    again.snapshot(["kept"])
    workspaces.git("gc", "--quiet", "--prune=now")
    assert workspaces.git("cat-file", "-t", tree).text == "tree"


def test_users_dirty_files_are_not_the_workers(workspaces: ShadowWorkspaces, repository: Path) -> None:
    """What is uncommitted in the checkout is neither in a worktree nor in its changes."""
    (repository / "README.md").write_text("dirty")
    (repository / "untracked").write_text("dirty")
    head = workspaces.resolve("HEAD")
    workspace = workspaces.open("a", head, head=head)
    assert workspace.snapshot() == workspaces.tree_of(head)
    assert workspace.read("README.md") == b"# Sample\n"


def test_file_too_large_for_memory_is_snapshot_all_the_same(
    workspace: Worktree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A touched file above the limit of read() is left to git, with the same result."""
    workspace.write("large", b"x" * 1_000)
    usual = workspace.snapshot(["large"])
    monkeypatch.setattr(snapshots, "LARGEST_READ", 100)
    workspace.write("large", b"y" * 1_000)
    assert workspace.snapshot(["large"]) != usual
    workspace.write("large", b"x" * 1_000)
    assert workspace.snapshot(["large"]) == usual


def test_snapshot_that_cannot_be_written_is_one_error(workspace: Worktree) -> None:
    """An object store that cannot be written is a WorkspaceError with the way out, both ways."""
    objects = workspace.place.home / "shadow.git" / "objects"
    objects.rename(objects.with_name("gone"))
    objects.write_text("no folder")
    workspace.write("x", b"new content")
    for touched in (["x"], None):
        with pytest.raises(WorkspaceError):
            workspace.snapshot(touched)


def test_emptied_workspace_is_the_empty_tree(workspace: Worktree) -> None:
    """Deleting every file is a snapshot as any other."""
    names = workspace.files()
    for name in names:
        workspace.delete(name)
    assert workspace.snapshot(names) == workspace.snapshot() == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_git_status_inside_shows_what_changed_since_head(workspaces: ShadowWorkspaces) -> None:
    """HEAD is the given commit although the content is another tree's."""
    head = workspaces.resolve("HEAD")
    first = workspaces.open("one", head, head=head)
    first.write("new", b"")
    first.write("README.md", b"other\n")
    second = workspaces.open("two", first.snapshot(), head=head)
    said = second.run("git status --short").output
    assert set(said.splitlines()) == {" M README.md", "?? new"}
