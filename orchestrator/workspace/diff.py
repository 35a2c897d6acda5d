"""What differs between two trees (edits are judged on content, not on what the worker says)."""

from __future__ import annotations

import os
from collections import Counter

import pygit2
from pygit2.enums import DeltaStatus, DiffFlag, DiffOption, FileMode

from orchestrator.domain.errors import WorkspaceError
from orchestrator.domain.workspace import ChangeStatus, EntryKind, FileChange
from orchestrator.workspace.git import Git
from orchestrator.workspace.paths import printable

_KINDS: dict[int, EntryKind] = {
    FileMode.BLOB_EXECUTABLE: "executable",
    FileMode.LINK: "symlink",
    FileMode.COMMIT: "gitlink",
}
_STATUS: dict[DeltaStatus, ChangeStatus] = {DeltaStatus.ADDED: "added", DeltaStatus.DELETED: "deleted"}
_LONGEST = 4 * 1024 * 1024  # bytes of a file whose lines are compared
_DIFF = ("diff-tree", "-p", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short")


def changes(objects: pygit2.Repository, before: str, after: str, since: str = "") -> tuple[FileChange, ...]:
    """What differs between two trees, by path; renames are a deletion and an addition, a file that became a symlink
    is one modification. With `since`, the tree at the attempt's start, also what was rewritten. Raises WorkspaceError
    when a tree is not in the Shadow."""
    if before == after:
        return ()
    old, new, start = _tree(objects, before), _tree(objects, after), _tree(objects, since) if since else None
    patches = old.diff_to_tree(new, flags=DiffOption.INCLUDE_TYPECHANGE, context_lines=0, interhunk_lines=0)
    return tuple(sorted((_change(objects, patch, start) for patch in patches if patch), key=lambda change: change.path))


def diff(git: Git, before: str, after: str) -> str:
    """The unified diff between two trees, without renames, with readable names."""
    return git(*_DIFF, before, after).out.decode("utf-8", "replace")


def _tree(objects: pygit2.Repository, name: str) -> pygit2.Tree:
    try:
        return objects[name].peel(pygit2.Tree)
    except (KeyError, ValueError) as error:
        raise WorkspaceError(f"The Shadow holds no tree {name!r}.") from error


def _change(objects: pygit2.Repository, patch: pygit2.Patch, start: pygit2.Tree | None) -> FileChange:
    delta = patch.delta
    status: ChangeStatus = _STATUS.get(delta.status, "modified")
    side = delta.old_file if status == "deleted" else delta.new_file
    kind = _KINDS.get(side.mode, "file")
    _, added, removed = patch.line_stats
    return FileChange(
        path=printable(os.fsdecode(side.raw_path)),
        status=status,
        added=added,
        removed=removed,
        blob="" if status == "deleted" else str(side.id),
        kind=kind,
        substantive=_substantive(objects, delta),
        binary=bool(delta.is_binary),
        was_binary=bool(delta.old_file.flags & DiffFlag.BINARY),
        size=0 if status == "deleted" else delta.new_file.size,
        link_target=_blob(objects, side).decode("utf-8", "backslashreplace") if kind == "symlink" else "",
        before="" if status == "added" else str(delta.old_file.id),
        rewritten=_rewritten(objects, delta, start) if start and status == "modified" else 0,
    )


def _rewritten(objects: pygit2.Repository, delta: pygit2.DiffDelta, start: pygit2.Tree) -> int:
    """Removed lines that the file did not have at the start; blank ones say nothing."""
    path = os.fsdecode(delta.old_file.raw_path)
    begun = start[path].id if path in start else None
    if delta.is_binary or begun == delta.old_file.id or delta.old_file.size > _LONGEST:
        return 0
    old = _lines(_blob(objects, delta.old_file))
    own = old - (_lines(_content(objects, begun)) if begun else Counter())
    return ((old - _lines(_blob(objects, delta.new_file))) & own).total()


def _lines(content: bytes) -> Counter[bytes]:
    return Counter(filter(None, map(bytes.strip, content.splitlines())))


def _substantive(objects: pygit2.Repository, delta: pygit2.DiffDelta) -> bool:
    """Whether more than white space changed. A file that comes, goes or changes its mode counts."""
    if delta.status != DeltaStatus.MODIFIED or delta.old_file.mode != delta.new_file.mode:
        return True
    if delta.is_binary or delta.new_file.mode == FileMode.COMMIT:
        return True
    old, new = _blob(objects, delta.old_file), _blob(objects, delta.new_file)
    return b"".join(old.split()) != b"".join(new.split())


def _blob(objects: pygit2.Repository, side: pygit2.DiffFile) -> bytes:
    return _content(objects, side.id)


def _content(objects: pygit2.Repository, oid: pygit2.Oid) -> bytes:
    found = objects[oid]
    return found.data if isinstance(found, pygit2.Blob) else b""
