"""A worktree as a git tree, by two ways that give the same tree.

Of the paths that a file tool touched, blobs and the folders above them are rebuilt in this process (about 1 ms). After
a command, git looks everywhere with a private index as its stat cache.

Unreferenced trees are lost to `git gc`, so each snapshot is a commit of one chain, and the attempt's ref moves along
the chain in groups: at the start, at each look everywhere (so at the tree that is handed in, before it is judged), at
every sixteenth snapshot and when the workspace closes. A process killed in between leaves at most fifteen snapshots
without the ref. They stay in the Shadow as long as nobody prunes it by hand (its own settings say never), and the last
one is anchored again as the start of the attempt that goes on from it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from orchestrator.domain.errors import ToolError, WorkspaceError
from orchestrator.domain.git_names import is_git_name
from orchestrator.workspace.filesystem import disk_error, make_accessible
from orchestrator.workspace.git import Git, GitResult, GitTimeoutError
from orchestrator.workspace.paths import LARGEST_READ, ConfinedTree, printable

TreeEntry = tuple[pygit2.Oid, int]
PathParts = tuple[str, ...]
Edits = dict[str, "TreeEntry | Edits | None"]

_NOBODY = pygit2.Signature("orchestrate", "orchestrate@localhost", 0, 0)
_RULES = (".gitignore", ".gitattributes", ".gitmodules")
_IN_A_GROUP = 16
"""Snapshots for which the ref moves once: moving it costs several times what the commit does."""

_WORKERS_FAULT = ("can only add regular files", "File name too long")
"""What git says to what only a worker makes: a FIFO in a tracked file's place, folders without end."""


class Snapshots:
    """The snapshots of one worktree. `git` has its work tree and private index; `ref` anchors them, in groups."""

    def __init__(self, git: Git, tree: ConfinedTree, objects: pygit2.Repository, ref: str, start: str) -> None:
        self._git = git
        self._tree = tree
        self._objects = objects
        self._ref = ref
        self._written: set[PathParts] = set()
        self._last = ""
        self._tip = objects.references[ref].target if ref in objects.references else None
        self._unanchored = 0
        self._commit(start)
        self.anchor()

    def wrote(self, parts: PathParts) -> None:
        """A file tool wrote this path: from now on it counts, also when git ignores it."""
        self._written.add(parts)

    def of(self, touched: Sequence[PathParts]) -> str:
        """The last snapshot with these paths as they are now. Raises WorkspaceError when it cannot be written."""
        self._written.update(touched)
        if any(self._is_large(parts) for parts in touched):
            return self.of_all()  # git streams what does not fit in memory
        try:
            changed = {parts: self._entry(parts) for parts in touched}
            root = pygit2.Oid(hex=self._last)
            tree = self._rebuild(root, _nested(changed)) or self._objects.TreeBuilder().write()
            return self._commit(str(tree))
        except (pygit2.GitError, OSError) as error:
            raise disk_error("The snapshot cannot be written", error) from error

    def of_all(self) -> str:
        """The whole worktree as it is now. Raises ToolError naming a nested `.git`."""
        refuse_nested_git(self._git)
        self.add_all()
        tree = self._commit(self._git("write-tree").text)
        self.anchor()
        return tree

    def anchor(self) -> None:
        """Make the ref name the last snapshot and so all before it. Raises WorkspaceError when it cannot be written."""
        if self._tip is None or not self._unanchored:
            return
        try:
            self._objects.references.create(self._ref, self._tip, force=True)
        except (pygit2.GitError, OSError) as error:
            raise disk_error("The snapshots cannot be anchored", error) from error
        self._unanchored = 0

    def add_all(self) -> None:
        """Bring the private index up to date with the worktree, with the ignored files that file tools wrote."""
        added = self._add()
        if added.code != 0 and "ermission denied" in added.err:
            make_accessible(self._tree.root)
            added = self._add()
        if added.code != 0 and any(told in added.err for told in _WORKERS_FAULT):
            said = added.err.splitlines()[0].removeprefix("error: ")
            raise ToolError(f"{printable(said)}. Remove it: only files, folders and symlinks of usual depth are kept.")
        if added.code != 0:
            raise disk_error("The workspace cannot be written as a tree", added.err)
        present = [parts for parts in sorted(self._written) if self._entry_mode(parts)]
        if present:
            feed = b"".join(os.fsencode("/".join(parts)) + b"\0" for parts in present)
            self._git("update-index", "--add", "--replace", "-z", "--stdin", feed=feed)

    def _add(self) -> GitResult:
        try:
            return self._git.ask("add", "--all", "--", ":/")
        except GitTimeoutError:
            said = "There is more in the workspace than can be kept in two minutes. Remove what is large."
            raise ToolError(said) from None

    def _is_large(self, parts: PathParts) -> bool:
        try:
            status = self._tree.stat(parts)
        except ToolError:
            return False
        return status is not None and status.st_size > LARGEST_READ

    def _entry_mode(self, parts: PathParts) -> int:
        """The git mode of what stands at a path, 0 for nothing that git stores."""
        try:
            status = self._tree.stat(parts)
        except ToolError:  # a parent became a symlink: the path itself is gone
            return 0
        if status is None:
            return 0
        if stat.S_ISLNK(status.st_mode):
            return FileMode.LINK
        executable = FileMode.BLOB_EXECUTABLE if status.st_mode & 0o100 else FileMode.BLOB
        return executable if stat.S_ISREG(status.st_mode) else 0

    def _entry(self, parts: PathParts) -> TreeEntry | None:
        mode = self._entry_mode(parts)
        if not mode:
            return None
        content = self._tree.link_target(parts) if mode == FileMode.LINK else self._tree.read(parts)
        return self._objects.create_blob(content), mode

    def _rebuild(self, old: pygit2.Oid | None, edits: Edits) -> pygit2.Oid | None:
        """The folder `old` with the edits; None when nothing is left in it."""
        builder = self._objects.TreeBuilder(old) if old else self._objects.TreeBuilder()
        for name, edit in edits.items():
            there = builder.get(name)
            entry = edit if not isinstance(edit, dict) else self._folder(there, edit)
            if entry is not None:
                builder.insert(name, *entry)
            elif there is not None and not _spared(there, edit):
                builder.remove(name)
        return builder.write() if len(builder) else None

    def _folder(self, there: pygit2.Object | None, edits: Edits) -> TreeEntry | None:
        inside = there.id if there is not None and there.filemode == FileMode.TREE else None
        tree = self._rebuild(inside, edits)
        return (tree, FileMode.TREE) if tree else None

    def _commit(self, tree: str) -> str:
        if tree != self._last:
            parents = [self._tip] if self._tip else []
            self._tip = self._objects.create_commit(None, _NOBODY, _NOBODY, "snapshot", pygit2.Oid(hex=tree), parents)
            self._last = tree
            self._unanchored += 1
        if self._unanchored >= _IN_A_GROUP:
            self.anchor()
        return tree


def _nested(changed: dict[PathParts, TreeEntry | None]) -> Edits:
    """Edits by folder; a path and one under it cannot both exist, so the absent of the two is left out."""
    top: Edits = {}
    for parts, entry in sorted(changed.items(), key=lambda item: item[1] is not None):
        folder = top
        for name in parts[:-1]:
            inner = folder.get(name)
            if not isinstance(inner, dict):
                inner = folder[name] = {}
            folder = inner
        if entry is not None or not isinstance(folder.get(parts[-1]), dict):
            folder[parts[-1]] = entry
    return top


def _spared(there: pygit2.Object, edit: TreeEntry | Edits | None) -> bool:
    """A path that is gone removes a file, not a folder now in its place; a folder that is gone spares a file."""
    return (there.filemode == FileMode.TREE) != isinstance(edit, dict)


def refuse_nested_git(git: Git) -> None:
    """Raise ToolError when a `.git` of whatever spelling stands below the top: its folder would become a gitlink, blind
    to what changes inside. In folders that git ignores (package caches) it hides nothing and may stand."""
    root = git.work_tree
    if root is None:
        raise WorkspaceError("A snapshot needs a work tree.")
    found = [path for path in _suspects(root) if path.parent == root or not _ignored(git, path.parent)]
    if found:
        names = ", ".join(printable(str(path.relative_to(root))) for path in found[:5])
        raise ToolError(f"{names}: a nested git repository or a git file that is none. Remove it; git is ours here.")


def _suspects(root: Path) -> list[Path]:
    try:
        return list(_walk(root))
    except PermissionError:
        make_accessible(root)
        return list(_walk(root))
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        top = Path(str(error.filename)).relative_to(root).parts[0]
        raise ToolError(f"{printable(top)} holds folders deeper than a path may be long. Remove it.") from None


def _walk(root: Path) -> Iterator[Path]:
    pending = [str(root)]
    while pending:
        folder = pending.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if _is_suspect(entry, top=folder == str(root)):
                    yield Path(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)


def _is_suspect(entry: os.DirEntry[str], top: bool) -> bool:
    if is_git_name(entry.name):
        return not (top and entry.name == ".git")
    if entry.name not in _RULES:
        return False
    mode = entry.stat(follow_symlinks=False).st_mode  # a FIFO or device in place of a rules file would hang git
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))


def _ignored(git: Git, folder: Path) -> bool:
    path = str(folder.relative_to(git.work_tree or folder))
    if git.ask("ls-files", "--error-unmatch", "--", f":(top,literal){path}").code == 0:
        return False
    return git.ask("check-ignore", "--quiet", "--no-index", "--", path).code == 0
