"""The embedded server's keeper: starts the JVM, stops it when asked or idle, and leaves no stale state behind.

Run as a program by path (`python supervisor.py LAUNCH_JSON`), in a session of its own, so that it outlives the client
that started it and is not reached by that client's Ctrl-C. It imports the standard library alone: it must start fast
and hold little memory. LAUNCH_JSON: {"folder", "command", "idle_s", "bolt_port", "http_port", "version"}.

Its life is visible through three files in `folder`: `supervisor.lock` is held exclusively while it lives, `server.json`
tells pids and ports, and `clients.lock` is held shared by every client (so taking it exclusively proves idleness).
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any

STOP_S = 15.0
"""Seconds that the JVM gets to close its databases before it is killed (its write-ahead log makes that safe)."""

_asked_to_stop = False


def _ask_to_stop(_signal: int, _frame: FrameType | None) -> None:
    global _asked_to_stop
    _asked_to_stop = True


def lock(path: Path, operation: int) -> IO[bytes] | None:
    """Open `path` and lock it; None when somebody else holds it. Closing the file releases the lock."""
    file = path.open("ab")
    try:
        fcntl.flock(file, operation | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def die_with_parent() -> None:
    """Where the kernel can (Linux): the JVM gets SIGTERM when its supervisor is killed, so that none runs unwatched."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def launch_jvm(command: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start the server with its output in `server.log`."""
    with (folder / "server.log").open("wb") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder / "server",
            preexec_fn=die_with_parent,  # one thread, so nothing can deadlock here
        )


def write_state(folder: Path, state: Mapping[str, Any]) -> None:
    """Replace `server.json` atomically."""
    fresh = folder / f"server.json.{os.getpid()}"
    fresh.write_text(json.dumps(state))
    fresh.replace(folder / "server.json")


def watch(jvm: subprocess.Popen[bytes], folder: Path, idle_s: float) -> None:
    """Return when the JVM died, a stop was asked for, or no client came for `idle_s` seconds. Raises OSError when the
    folder is gone."""
    clients = folder / "clients.lock"
    busy = time.time()
    while not _asked_to_stop and jvm.poll() is None:
        free = lock(clients, fcntl.LOCK_EX)
        if free is None:
            busy = time.time()
        elif time.time() - max(busy, clients.stat().st_mtime) >= idle_s:
            stop(jvm)  # under the lock, so that a client that comes now waits and then starts a new server
            return
        else:
            free.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            jvm.wait(min(1.0, idle_s / 5))


def stop(jvm: subprocess.Popen[bytes]) -> None:
    """End the JVM: politely, then not."""
    if jvm.poll() is not None:
        return
    jvm.terminate()
    try:
        jvm.wait(STOP_S)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()


def main(launch: Mapping[str, Any]) -> int:
    """Keep one server alive; 0 after a stop, 1 when the JVM died, 3 when another supervisor is there."""
    folder = Path(launch["folder"])
    ours = lock(folder / "supervisor.lock", fcntl.LOCK_EX)
    if ours is None:
        return 3
    signal.signal(signal.SIGTERM, _ask_to_stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    jvm = launch_jvm(launch["command"], folder)
    keys = ("bolt_port", "http_port", "version")
    try:
        write_state(folder, {key: launch[key] for key in keys} | {"pid": jvm.pid, "supervisor": os.getpid()})
        watch(jvm, folder, float(launch["idle_s"]))
    except OSError:
        pass  # the home was deleted under us: nobody can come any more
    finally:
        died = jvm.poll() is not None and not _asked_to_stop
        stop(jvm)
        (folder / "server.json").unlink(missing_ok=True)
    return 1 if died else 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
