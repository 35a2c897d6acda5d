"""Path confinement: every path that a model names is walked component by component from an open folder, so that no
`..`, symlink or spelling of `.git` leads out, and no command can swap a component between check and use.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.errors import PathRefusedError, ToolError
from orchestrator.domain.git_names import is_git_name
from orchestrator.workspace.filesystem import FULL, disk_error

LARGEST_READ = 32_000_000
"""Bytes of a file that read() takes."""

MOST_FOLDERS = 100
"""Folders above one file; no project has so many, and trees are built by recursion."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def parts_of(path: str, shown_root: str) -> tuple[str, ...]:
    """The components of a path from the top level, () for the top itself. Raises PathRefusedError."""
    _check_text(path)
    parts = tuple(part for part in _from_top(path, shown_root).split("/") if part not in ("", "."))
    if len(parts) > MOST_FOLDERS:
        raise PathRefusedError(f"{path[:80]}… is {len(parts)} folders deep, limit {MOST_FOLDERS}. Name a shorter one.")
    for part in parts:
        _check_part(part, path)
    return parts


def _check_text(path: str) -> None:
    if not path or "\0" in path:
        raise PathRefusedError("The path is empty or holds a NUL. Name a path from the top level.")
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise PathRefusedError("The path is no valid Unicode. Name a path from the top level.") from None
    if size > 4_000:
        raise PathRefusedError(f"The path is {size} bytes long, limit 4000. Name a shorter one.")


def _from_top(path: str, shown_root: str) -> str:
    if not path.startswith("/"):
        return path
    clean = "/" + "/".join(part for part in path.split("/") if part not in ("", "."))
    if clean != shown_root and not clean.startswith(shown_root.rstrip("/") + "/"):
        raise PathRefusedError(f"{path} is outside the workspace {shown_root}. Name a path from its top level.")
    return clean[len(shown_root) :]


def _check_part(part: str, path: str) -> None:
    if part == "..":
        raise PathRefusedError(f"{path} holds '..'. Name the path from the top level.")
    if is_git_name(part):
        raise PathRefusedError(f"{path} leads into .git, which is not the worker's. Name another path.")
    if len(part.encode()) > 255:
        raise PathRefusedError(f"{path[:80]}… has a name longer than 255 bytes. Name a shorter one.")


def printable(path: str) -> str:
    """A path that can be shown and stored: bytes that are no UTF-8 are written as escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class ConfinedTree:
    """Files under one folder of ours, by components from its top. `staging` is a folder beside it, on the same file
    system, where new content is written before it is moved into place."""

    root: Path
    staging: Path

    def read(self, parts: tuple[str, ...]) -> bytes:
        """A regular file's bytes. Never blocks on a FIFO or device. Raises ToolError."""
        with self._parent(parts) as (folder, name), _explained(parts):
            descriptor = os.open(name, _FILE, dir_fd=folder)
            with os.fdopen(descriptor, "rb") as file:
                _check_readable(os.fstat(descriptor), parts)
                return file.read(LARGEST_READ + 1)

    def write(self, parts: tuple[str, ...], content: bytes) -> None:
        """Create or replace a regular file in one step; the executable bit stays, other hard links keep their old
        content. Raises ToolError, WorkspaceError when the disk is full."""
        with self._parent(parts, create=True) as (folder, name), _explained(parts):
            mode = _mode_to_keep(folder, name, parts)
            new = self._stage(content, mode)
            try:
                os.replace(new, name, dst_dir_fd=folder)
            finally:
                new.unlink(missing_ok=True)

    def delete(self, parts: tuple[str, ...]) -> None:
        """Remove a file or a symlink (the link itself), and the parent folders that this leaves empty, as git does."""
        with self._parent(parts) as (folder, name), _explained(parts):
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise ToolError(f"{'/'.join(parts)} is a folder. Delete its files one by one.")
            os.unlink(name, dir_fd=folder)
        self._prune(parts[:-1])

    def stat(self, parts: tuple[str, ...]) -> os.stat_result | None:
        """The entry's own status, None when there is none. Raises PathRefusedError through a symlink."""
        try:
            with self._parent(parts) as (folder, name):
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError, _MissingError):
            return None

    def link_target(self, parts: tuple[str, ...]) -> bytes:
        """Where a symlink points."""
        with self._parent(parts) as (folder, name), _explained(parts):
            return os.fsencode(os.readlink(name, dir_fd=folder))

    def make_folder(self, parts: tuple[str, ...]) -> bool:
        """Make a folder with its parents; False when something else is in its place."""
        try:
            with self._parent((*parts, "x"), create=True):
                return True
        except ToolError:
            return False

    def adopt(self, parts: tuple[str, ...], new: Path) -> bool:
        """Move what was made in `staging` into place; False when something stands there already. Raises ToolError."""
        with self._parent(parts, create=True) as (folder, name), _explained(parts):
            try:
                os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                os.rename(new, name, dst_dir_fd=folder)
                return True
            return False

    def _stage(self, content: bytes, mode: int) -> Path:
        new = self.staging / secrets.token_hex(8)
        with os.fdopen(os.open(new, _NEW, mode), "wb") as file:
            file.write(content)
        return new

    def _prune(self, parts: tuple[str, ...]) -> None:
        for depth in range(len(parts), 0, -1):
            try:
                with self._parent(parts[:depth]) as (folder, name):
                    os.rmdir(name, dir_fd=folder)
            except (OSError, ToolError):
                return

    @contextmanager
    def _parent(self, parts: tuple[str, ...], create: bool = False) -> Iterator[tuple[int, str]]:
        """The parent folder, open, and the last name. The folder stays the one that was checked, whatever happens to
        its path meanwhile."""
        if not parts:
            raise ToolError("The top level is a folder. Name a file.")
        with _explained(parts):
            folder = os.open(self.root, _FOLDER)
        try:
            for depth, name in enumerate(parts[:-1], 1):
                inner = _enter(folder, name, parts[:depth], create)
                os.close(folder)
                folder = inner
            yield folder, parts[-1]
        finally:
            os.close(folder)


class _MissingError(ToolError):
    """There is nothing at the path."""


def _enter(folder: int, name: str, parts: tuple[str, ...], create: bool) -> int:
    with _explained(parts):
        if create:
            with suppress(FileExistsError):
                os.mkdir(name, 0o777, dir_fd=folder)
        return os.open(name, _FOLDER, dir_fd=folder)


@contextmanager
def _explained(parts: tuple[str, ...]) -> Iterator[None]:
    """The operating system's refusals as errors that the worker can act on."""
    try:
        yield
    except OSError as error:
        raise _explanation("/".join(parts), error) from error


def _explanation(path: str, error: OSError) -> Exception:
    if error.errno == errno.ENOENT:
        return _MissingError(f"{path} does not exist. List the files to see what does.")
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return PathRefusedError(f"{path} is a symlink, which is not followed. Name the file that it points to.")
    if error.errno == errno.ENOTDIR:
        return PathRefusedError(f"{path} is a file or a symlink, not a folder. Name the real path.")
    if error.errno == errno.EISDIR:
        return ToolError(f"{path} is a folder. Name a file.")
    if error.errno in FULL:
        return disk_error(f"{path} cannot be written", error)
    return ToolError(f"{path}: {error.strerror}.")


def _check_readable(status: os.stat_result, parts: tuple[str, ...]) -> None:
    path = "/".join(parts)
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{path} is a folder. List its files instead.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{path} is no regular file (a FIFO, socket or device). It cannot be read.")
    if status.st_size > LARGEST_READ:
        raise ToolError(f"{path} has {status.st_size} bytes, limit {LARGEST_READ}. Read parts of it with a command.")


def _mode_to_keep(folder: int, name: str, parts: tuple[str, ...]) -> int:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return 0o666
    if stat.S_ISLNK(status.st_mode):
        raise PathRefusedError(f"{'/'.join(parts)} is a symlink, which is not followed. Name the file it points to.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{'/'.join(parts)} is a folder or no regular file. Name another path.")
    return 0o777 if status.st_mode & 0o100 else 0o666
