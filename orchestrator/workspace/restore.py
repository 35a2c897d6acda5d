"""A worktree made again what it was opened as, whatever commands did in it.

Everything that is not of the tree goes, ignored or not, of whatever kind: tools load compiled files, configuration and
modules that git ignores as readily as others. What stands in a tracked file's place goes too, and git writes each file
anew that was touched since it was written: its index has what the kernel said of it then, the time of change among
that, which no command can set.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path

from orchestrator.workspace.filesystem import disk, make_accessible, remove_folder
from orchestrator.workspace.worktree_dir import WorktreeDir

_GITLINK = "160000 "
_READ_WRITE = stat.S_IRUSR | stat.S_IWUSR


def restore(place: WorktreeDir, tree: str) -> None:
    """Bring the worktree back to the content of `tree`. Raises WorkspaceError, DiskFullError."""
    files, folders = _listed(place, tree)
    with disk(f"{place.tree} cannot be restored"):
        try:
            _clear(place.tree, files, folders)
        except PermissionError:
            make_accessible(place.tree)
            _clear(place.tree, files, folders)
        place.write_gitfile()
    if place.git.ask("read-tree", "--reset", "-u", tree).code != 0:
        make_accessible(place.tree)
        place.git("read-tree", "--reset", "-u", tree)


def _listed(place: WorktreeDir, tree: str) -> tuple[frozenset[str], frozenset[str]]:
    """The paths of the tree's files, and of the folders that they are in."""
    told = place.git("ls-tree", "-r", "-z", "--full-tree", tree).fields()
    paths = {path: told.startswith(_GITLINK) for told, _, path in (entry.partition("\t") for entry in told)}
    folders = {path for path, is_link in paths.items() if is_link}
    for path in paths:
        above = path.rpartition("/")[0]
        while above and above not in folders:
            folders.add(above)
            above = above.rpartition("/")[0]
    return frozenset(paths.keys() - folders), frozenset(folders)


def _clear(root: Path, files: Collection[str], folders: Collection[str]) -> None:
    """Remove all that is neither one of these files nor one of these folders; nothing is followed."""
    pending = [""]
    while pending:
        above = pending.pop()
        with os.scandir(f"{root}/{above}") as entries:
            for entry in entries:
                path, mode = f"{above}{entry.name}", entry.stat(follow_symlinks=False).st_mode
                if path in folders and stat.S_ISDIR(mode):
                    if mode & stat.S_IRWXU != stat.S_IRWXU:
                        Path(entry.path).chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
                    pending.append(f"{path}/")
                elif path not in files or not _is_usable(mode):
                    _remove(Path(entry.path), mode)


def _is_usable(mode: int) -> bool:
    """Whether git finds what it may compare: where a file cannot be read it is written anew."""
    return stat.S_ISLNK(mode) or (stat.S_ISREG(mode) and mode & _READ_WRITE == _READ_WRITE)


def _remove(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        remove_folder(path)
    else:
        path.unlink()
