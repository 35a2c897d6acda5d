"""What differs between two trees."""

from __future__ import annotations

import pytest

from orchestrator.domain.errors import WorkspaceError
from orchestrator.domain.workspace import FileChange
from orchestrator.workspace.worktree import Worktree


def after(workspace: Worktree, **files: bytes) -> FileChange:
    """The only change of writing a file over what was there."""
    before = workspace.snapshot()
    for name, content in files.items():
        workspace.write(name, content)
    [change] = workspace.changes(before, workspace.snapshot())
    return change


@pytest.mark.parametrize("name", ["é file", "new\nline", 'quo"te', "tab\there", "-dash", ":(top)x"])
def test_odd_names_are_exact(workspace: Worktree, name: str) -> None:
    """Accents, spaces, newlines and what git would read as an option or pathspec."""
    before = workspace.snapshot()
    workspace.write(name, b"1\n2\n")
    tree = workspace.snapshot()
    [change] = workspace.changes(before, tree)
    assert (change.path, change.status, change.added, change.removed) == (name, "added", 2, 0)
    assert workspace.snapshot([name]) == tree
    assert name in workspace.files()


def test_modified_and_deleted_files_are_counted(workspace: Worktree) -> None:
    """Lines added and removed; a deletion has no blob, and each tells the blob before it."""
    new = after(workspace, **{"new.md": b"# New\n"})
    assert (new.before, after(workspace, **{"new.md": b"# Newer\n"}).before) == ("", new.blob)
    modified = after(workspace, **{"README.md": b"# Sample\nmore\n"})
    assert (modified.status, modified.added, modified.removed, modified.kind) == ("modified", 1, 0, "file")
    before = workspace.snapshot()
    workspace.delete("README.md")
    [deleted] = workspace.changes(before, workspace.snapshot())
    assert (deleted.status, deleted.removed, deleted.blob, deleted.substantive) == ("deleted", 2, "", True)
    assert deleted.before == modified.blob


def test_rename_is_a_deletion_and_an_addition(workspace: Worktree) -> None:
    """Of a rename both paths are seen."""
    before = workspace.snapshot()
    workspace.write("moved.md", workspace.read("README.md"))
    workspace.delete("README.md")
    found = [(change.path, change.status) for change in workspace.changes(before, workspace.snapshot())]
    assert found == [("README.md", "deleted"), ("moved.md", "added")]


def test_whitespace_alone_is_not_substantive(workspace: Worktree) -> None:
    """re-indenting does not count, a new word does."""
    assert not after(workspace, **{"app/main.py": b"\n  print( 'hello' )\n\n"}).substantive
    assert after(workspace, **{"app/main.py": b"print('hullo')\n"}).substantive


def test_binary_and_mode_changes_are_told(workspace: Worktree) -> None:
    """A binary file is marked; an executable bit alone is a substantive change of kind."""
    assert after(workspace, blob=b"\0\1\2").binary
    before = workspace.snapshot()
    (workspace.place.tree / "README.md").chmod(0o755)
    [change] = workspace.changes(before, workspace.snapshot())
    assert (change.kind, change.status, change.substantive) == ("executable", "modified", True)


def test_symlink_tells_its_target(workspace: Worktree) -> None:
    """A symlink that points outside can be seen by its target."""
    before = workspace.snapshot()
    (workspace.place.tree / "README.md").unlink()
    (workspace.place.tree / "README.md").symlink_to("/etc/passwd")
    [change] = workspace.changes(before, workspace.snapshot())
    assert (change.path, change.kind, change.status, change.link_target) == (
        "README.md",
        "symlink",
        "modified",
        "/etc/passwd",
    )


def test_name_that_is_no_utf8_can_be_told(workspace: Worktree) -> None:
    """Bytes that are no UTF-8 in a name are shown as escapes, so that they can be stored."""
    before = workspace.snapshot()
    (workspace.place.tree / "caf\udce9").write_text("x")
    [change] = workspace.changes(before, workspace.snapshot())
    assert change.path == "caf\\xe9"


def test_diff_is_unified_and_readable(workspace: Worktree) -> None:
    """The diff has readable names, no renames, and survives content that is no UTF-8."""
    before = workspace.snapshot()
    workspace.write("é", b"caf\xe9\n")
    diff = workspace.diff(before, workspace.snapshot())
    assert "+++ b/é" in diff
    assert "+caf\ufffd" in diff
    assert workspace.diff(before, before) == ""


def test_unknown_tree_is_an_error(workspace: Worktree) -> None:
    """A tree that the Shadow does not hold is one clear error."""
    with pytest.raises(WorkspaceError, match="no tree"):
        workspace.changes("0" * 40, workspace.snapshot())


def test_what_the_attempt_itself_had_put_into_a_file_is_rewritten(workspace: Worktree) -> None:
    """Removed lines that the file had at the start are no rewriting, nor is a file that comes or goes; blank lines and
    binary files say nothing."""
    start = workspace.snapshot()
    states = [
        ("app/main.py", "one\n"),  # over what stood at the start
        ("app/main.py", "one\n\ntwo\n"),  # more
        ("app/main.py", "one\n\n2\n"),  # a line of the attempt's own goes
        ("app/main.py", "uno\n"),  # and two more
    ]
    seen, before = [], start
    for path, text in states:
        workspace.write(path, text.encode())
        after = workspace.snapshot()
        [change] = workspace.changes(before, after, start)
        seen.append(change.rewritten)
        before = after
    assert seen == [0, 0, 1, 2]
    workspace.delete("app/main.py")
    [gone] = workspace.changes(before, workspace.snapshot(), start)
    assert gone.rewritten == 0
