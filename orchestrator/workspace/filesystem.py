"""Files and folders of ours: written whole, removed whatever a worker did to them, held against others; and what the
file system refuses us, as errors: a full disk is the run's trouble, not a task's."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from orchestrator.domain.errors import DiskFullError, WorkspaceError
from orchestrator.workspace.programs import program

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_SAYS_FULL = ("no space left on device", "disk quota exceeded")


def disk_error(what: str, error: Exception | str) -> WorkspaceError:
    """`what` failed: a DiskFullError where the disk is full, else a WorkspaceError with the system's own words. git and
    libgit2 tell it in text."""
    said = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    if (isinstance(error, OSError) and error.errno in FULL) or any(told in said.lower() for told in _SAYS_FULL):
        return DiskFullError(f"No space left on the disk: {what}.")
    return WorkspaceError(f"{what}: {said}")


@contextmanager
def disk(what: str) -> Iterator[None]:
    """Writing to ORCHESTRATE_HOME; `what` says what fails if it does. Raises WorkspaceError, DiskFullError."""
    try:
        yield
    except OSError as error:
        raise disk_error(what, error) from error


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises WorkspaceError, DiskFullError."""
    new = path.with_suffix(".new")
    with disk(f"{path} cannot be written"):
        new.write_text(text, "utf-8", "surrogateescape")
        new.rename(path)


def make_accessible(root: Path) -> None:
    """Undo a worker's chmod on its own files, so that they can be read and removed; follows no link."""
    subprocess.run([program("chmod"), "-R", "u+rwX", "--", str(root)], capture_output=True, check=False)


def remove_folder(folder: Path) -> None:
    """Remove a folder and all in it, whatever a worker did to its modes or however deep it nested; follows no link.
    Raises WorkspaceError when something stays."""
    if not folder.exists():
        return
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        make_accessible(folder)
        done = subprocess.run([program("rm"), "-rf", "--", str(folder)], capture_output=True, check=False)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise WorkspaceError(f"{folder} cannot be removed: {said}") from None


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold `path` exclusively. flock is per open file, so it keeps threads of one process apart too; the kernel
    releases it when the holder dies."""
    with disk(f"{path} cannot be made"):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def hold_folder(folder: Path) -> ExitStack:
    """Make the folder and hold it until the stack is closed or the process dies."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = _opened(folder)
        if descriptor is None:
            continue
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        held = ExitStack()
        held.callback(os.close, descriptor)
        if _is_still(folder, descriptor):
            return held
        held.close()  # it was found free and removed meanwhile


def share_folder(folder: Path) -> ExitStack | None:
    """Keep a folder from `remove_if_free` until the stack is closed or the process dies, beside others who do so too;
    None where it is gone."""
    descriptor = _opened(folder)
    if descriptor is None:
        return None
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    held = ExitStack()
    held.callback(os.close, descriptor)
    if _is_still(folder, descriptor):
        return held
    held.close()
    return None


def remove_if_free(folder: Path, remove: Callable[[], None]) -> None:
    """Call `remove` for a folder that nobody holds, and hold it meanwhile."""
    descriptor = _opened(folder)
    if descriptor is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove()
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)


def _opened(folder: Path) -> int | None:
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _is_still(folder: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(folder.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
