"""Locks between threads and processes, on a file or a folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from orchestrator.workspace.disk import disk


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
