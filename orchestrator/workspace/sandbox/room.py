"""What a command takes of the machine beside the memory that its processes hold: shared memory (memory files, shared
pages), which stays when no process has it mapped, and space on the disk.

Nothing tells an ordinary user whose shared memory is. So a command is held to have taken it when the machine has that
much more of it than before, and the command's processes have something that can hold as much. And whoever takes it, or
memory in sockets and pipes, which nothing counts: before the machine has too little left, the command is ended.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.workspace import EndedBy

LEAST_MEMORY = 500_000_000
LEAST_DISK = 1_000_000_000
"""Bytes that a command leaves to the machine, but half of what there was before it where that is less."""

_UNKNOWN = 1 << 62  # memory files on their way through a socket; a process that does not show itself
_SHARED = ("/dev/zero (deleted)", "/memfd:", "/SYSV")


@dataclass(frozen=True, slots=True)
class Room:
    """The machine at one moment, in bytes: memory that can be had, shared memory, space on the disk."""

    available: int
    shared: int
    disk: int


def room(folder: Path) -> Room:
    """The machine now, with the disk that holds the folder; 0 for what it does not tell."""
    told = dict(_memory())
    return Room(available=told.get("MemAvailable", 0), shared=told.get("Shmem", 0), disk=_free(folder))


def shortage(
    before: Room, now: Room, memory_bytes: int, processes: Callable[[], Iterable[int]]
) -> tuple[EndedBy, str] | None:
    """Why a command of these processes must end, by which bound and in words, None where it need not."""
    if now.disk < min(LEAST_DISK, before.disk // 2):
        return "output", f"only {now.disk // 1_000_000} MB are left on the disk"
    if now.available < min(LEAST_MEMORY, before.available // 2):
        return "memory", f"the machine has only {now.available // 1_000_000} MB of memory left"
    taken = now.shared - before.shared
    if taken > memory_bytes and hideable(processes()) > memory_bytes:
        return "memory", f"{taken // 1_000_000} MB of shared memory, limit {memory_bytes // 1_000_000}"
    return None


def hideable(processes: Iterable[int]) -> int:
    """How many bytes of shared memory these processes may hold, at most."""
    found: dict[object, int] = {}
    for pid in processes:
        try:
            found.update(_mapped(pid))
            found.update(_opened(pid))
        except (FileNotFoundError, ProcessLookupError):
            continue
        except OSError:
            return _UNKNOWN
    return sum(found.values())


def _mapped(pid: int) -> Iterator[tuple[object, int]]:
    """The shared mappings of a process that no file of a disk backs."""
    with open(f"/proc/{pid}/maps", "rb") as maps:  # noqa: PTH123  as the others of /proc
        for line in maps:
            words = line.split(None, 5)
            if len(words) == 6 and words[5].decode("utf-8", "replace").startswith(_SHARED):
                first, _, last = words[0].partition(b"-")
                yield (words[4], first), int(last, 16) - int(first, 16)


def _opened(pid: int) -> Iterator[tuple[object, int]]:
    """The open files of a process that hold memory, or may lead to some."""
    for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
        entry = f"/proc/{pid}/fd/{name}"
        status = os.stat(entry)  # noqa: PTH116
        if stat.S_ISSOCK(status.st_mode):
            yield status.st_ino, _UNKNOWN
        elif status.st_nlink == 0:
            yield status.st_ino, status.st_blocks * 512


def _free(folder: Path) -> int:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return 0
    return disk.f_bavail * disk.f_frsize


def _memory() -> Iterator[tuple[str, int]]:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        name, _, told = line.partition(":")
        words = told.split()
        if words and words[0].isdigit():
            yield name, int(words[0]) * (1_024 if words[1:] == ["kB"] else 1)
