"""The processes that descend from one: how many, how much memory, and how to end them. Linux has /proc for that; where
there is none, the process group stands in for the tree."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
GRACE_S = 2.0
"""Seconds between SIGTERM and SIGKILL."""
SWEEP_S = 20.0
"""Seconds that the launcher may take to end what is left, on a machine that is overrun."""

_PAGE = os.sysconf("SC_PAGE_SIZE")


def measure(root: int, enough: int) -> tuple[int, int]:
    """(processes, bytes) of the tree below `root`. The cheap resident size counts shared pages in each process; only
    when that exceeds `enough` is the proportional one added up."""
    tree = descendants(root)
    resident = sum(_number(pid, "statm", 1) * _PAGE for pid in tree)
    if resident <= enough:
        return len(tree), resident
    return len(tree), sum(_proportional(pid) for pid in tree)


def descendants(root: int) -> list[int]:
    """The ids of all processes below `root`, nearest first."""
    children = defaultdict(list)
    for pid, parent in _parents():
        children[parent].append(pid)
    found = [root]
    for pid in found:
        found += children.get(pid, ())
    return found[1:]


def terminate(root: int) -> None:
    """Ask what runs below `root` to end. Not `root`, the sandbox itself: of its death all else dies at once, without
    time to clean up. (The first process of a PID namespace ignores SIGTERM.)"""
    tree = descendants(root)
    if not tree:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(root, signal.SIGTERM)
    for pid in tree:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGTERM)


def kill(running: subprocess.Popen[bytes]) -> None:
    """End the sandbox and all in it at once, without looking at each process: a fork bomb would outrun that. bwrap dies
    of SIGTERM and its PID namespace with it; the launcher of the other levels ends its child's group and orphans."""
    with suppress(subprocess.TimeoutExpired):
        running.terminate()
        running.wait(SWEEP_S)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()


def threads() -> int:
    """How many threads this machine runs: a figure that is cheap to read, 0 where it cannot be had."""
    try:
        return int((_PROC / "loadavg").read_bytes().split()[3].split(b"/")[1])
    except (OSError, IndexError, ValueError):
        return 0


def _parents() -> list[tuple[int, int]]:
    try:
        names = os.listdir(_PROC)  # noqa: PTH208
    except FileNotFoundError:
        return []
    pairs = ((int(name), _number(name, "stat", 1)) for name in names if name.isdigit())
    return [(pid, parent) for pid, parent in pairs if parent]


def _number(pid: int | str, file: str, at: int) -> int:
    """A number in one of a process's files, 0 where it cannot be had. The process's name in stat, in parentheses, may
    hold anything, so it is counted from the last parenthesis."""
    try:
        with open(f"{_PROC}/{pid}/{file}", "rb") as told:  # noqa: PTH123  a Path takes longer than the reading
            return int(told.read().rpartition(b")")[2].split()[at])
    except (OSError, IndexError, ValueError):
        return 0


def _proportional(pid: int) -> int:
    try:
        for line in (_PROC / str(pid) / "smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1_024
    except (OSError, IndexError, ValueError):
        pass
    return _number(pid, "statm", 1) * _PAGE
