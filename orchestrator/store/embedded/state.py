"""What the files under `<home>/graph` tell about the embedded server, and how it is ended (see supervisor.py)."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.store.embedded import supervisor

REPAIR_S = 5.0
"""Seconds for which a supervisor that lives may leave its files unwritten; it looks at them each second."""

QUIET_S = 5.0
"""Seconds that a wait may be silent."""


@dataclass(frozen=True, slots=True)
class State:
    """What `server.json` says."""

    pid: int
    bolt_port: int
    http_port: int
    version: str

    @property
    def uri(self) -> str:
        """The Bolt address."""
        return f"bolt://127.0.0.1:{self.bolt_port}"


def read_state(folder: Path) -> State | None:
    """`server.json`, or None when it is missing or not ours to understand."""
    try:
        found = json.loads((folder / "server.json").read_text())
        return State(int(found["pid"]), int(found["bolt_port"]), int(found["http_port"]), str(found["version"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def supervisor_pid(folder: Path) -> int | None:
    """Who holds `supervisor.lock`, by its content; what no supervisor wrote is nobody."""
    try:
        pid = int((folder / "supervisor.lock").read_text())
    except (OSError, ValueError):
        return None
    return pid if Path(supervisor.__file__).name in _command_line(pid) else None


def supervised(folder: Path) -> bool:
    """Whether a supervisor lives. Looking shares the lock, so that two who look do not take each other for one."""
    if not (folder / "supervisor.lock").exists():
        return False
    free = supervisor.lock(folder / "supervisor.lock", fcntl.LOCK_SH)
    if free is not None:
        free.close()
    return free is None


def await_state(folder: Path) -> State | None:
    """The state of a supervised server. A supervisor that has just taken its lock, or whose file was damaged, needs a
    moment to write it."""
    deadline = time.monotonic() + REPAIR_S
    while supervised(folder) and time.monotonic() < deadline:
        state = read_state(folder)
        if state is not None:
            return state
        time.sleep(0.02)
    return None


def stop_server(folder: Path, *, politely: bool = True) -> bool:
    """End supervisor and server, also a server whose supervisor was killed; True when one of them was there. Without
    `politely` the server is killed first: it is deaf, and its log makes this safe."""
    found = not politely and _kill_jvms(folder)
    if supervised(folder):
        found = True
        _end_supervisor(folder)
    found = _kill_jvms(folder) or found  # nobody is left to ask them politely
    (folder / "server.json").unlink(missing_ok=True)
    return found


def _end_supervisor(folder: Path) -> None:
    wait_until(lambda: supervisor_pid(folder) is not None or not supervised(folder), REPAIR_S)
    for number, seconds in ((signal.SIGTERM, supervisor.STOP_S + 5), (signal.SIGKILL, 5.0)):
        pid = supervisor_pid(folder)
        if pid is None or not supervised(folder):
            return
        _signal(pid, number)
        wait_until(lambda: not supervised(folder), seconds)


def _kill_jvms(folder: Path) -> bool:
    """Kill the servers over `folder`, whatever the files say: who launched one may have been killed before it could
    write them."""
    pids = _jvms(folder)
    for pid in pids:
        _signal(pid, signal.SIGKILL)
    if pids:
        wait_until(lambda: not _jvms(folder), 5)
    return bool(pids)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _jvms(folder: Path) -> tuple[int, ...]:
    """The pids of the servers over `folder`."""
    asked = ["ps", "-eww", "-o", "pid=,command="]
    listing = subprocess.run(asked, capture_output=True, text=True, errors="replace", check=False).stdout
    mark = f" -Darcadedb.server.rootPath={folder / 'server'} "  # a supervisor has it too, in quotes
    return tuple(int(line.split()[0]) for line in listing.splitlines() if mark in f"{line} ")


def _command_line(pid: int) -> str:
    """The process's command line; empty when there is no such process."""
    asked = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(asked, capture_output=True, text=True, errors="replace", check=False).stdout


def wait_until(done: Callable[[], bool], seconds: float) -> bool:
    """Whether it was done within so many seconds; returns as soon as it is."""
    deadline = time.monotonic() + seconds
    while not (is_done := done()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_done


@contextlib.contextmanager
def exclusive(path: Path, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock at `path` alone; a longer wait for it is told."""
    with path.open("ab") as file:
        if not wait_until(lambda: _locked(file.fileno()), QUIET_S):
            on_wait("Another process is starting or stopping the embedded graph server; waiting until it has done so.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _locked(file: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
