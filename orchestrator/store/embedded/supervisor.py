"""The embedded server's keeper: starts the JVM, stops it when asked or idle, and leaves no stale state behind.

Run as a program by path (`python supervisor.py LAUNCH_JSON`), in a session of its own, so that it outlives the client
that started it and is not reached by that client's Ctrl-C. It imports the standard library alone: it must start fast
and hold little memory. LAUNCH_JSON: {"folder", "command", "idle_s", "bolt_port", "http_port", "version",
"training"}: the last is a command that it becomes after an idle stop, when it has let go of everything; or empty.

Its life is visible through three files in `folder`: `supervisor.lock` is held exclusively while it lives and holds its
pid, `server.json` tells the JVM's pid and ports, and `clients.lock` is held shared by every client (so taking it
exclusively proves idleness). The first two are written again when they were damaged or deleted, so that the server they
are about can be found as long as it lives.
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

USERS = "server/config/server-users.jsonl"
"""Where the server keeps who may log in, with hashes of their passwords."""

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


def die_with_parent(parent: int) -> None:
    """Where the kernel can (Linux): the JVM gets SIGTERM when its supervisor is killed, so that none runs unwatched."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # it was killed before we could ask for that
            os._exit(1)


def launch_jvm(command: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start the server with its output in `server.log`. It makes its users anew each time: so the password files are
    right whatever became of them, and the records, which belong to no user, stay. The old users are deleted here, by
    the one who holds the lock: deleted under a server that runs, it would forget the reader."""
    (folder / USERS).unlink(missing_ok=True)
    parent = os.getpid()
    with (folder / "server.log").open("wb") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder / "server",
            preexec_fn=lambda: die_with_parent(parent),  # one thread, so nothing can deadlock here
        )


def is_still(held: IO[bytes], path: Path) -> bool:
    """Whether the open file is the one at `path`: not deleted, nor in a folder that was made anew."""
    try:
        return os.path.samestat(os.fstat(held.fileno()), path.stat())
    except OSError:
        return False


def write_state(folder: Path, state: str) -> None:
    """Replace `server.json` atomically."""
    fresh = folder / f"server.json.{os.getpid()}"
    fresh.write_text(state)
    fresh.replace(folder / "server.json")


def write_pid(held: IO[bytes]) -> None:
    """Make our pid the whole content of the lock that we hold."""
    held.truncate(0)
    held.write(str(os.getpid()).encode())
    held.flush()


def repair(folder: Path, held: IO[bytes], state: str) -> None:
    """Write what was damaged again. A full disk is no reason to stop a server that others use."""
    with contextlib.suppress(OSError):
        if read(folder / "server.json") != state.encode():
            write_state(folder, state)
        if read(folder / "supervisor.lock") != str(os.getpid()).encode():
            write_pid(held)


def read(path: Path) -> bytes | None:
    """The file's bytes; None when it is not there."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def watch(jvm: subprocess.Popen[bytes], folder: Path, held: IO[bytes], state: str, idle_s: float) -> bool:
    """Return when the JVM died, a stop was asked for, the folder is gone, or no client came for `idle_s` seconds:
    whether it was this, so that nobody waits for us."""
    clients = folder / "clients.lock"
    busy = time.time()
    while not _asked_to_stop and jvm.poll() is None and is_still(held, folder / "supervisor.lock"):
        repair(folder, held, state)
        free = lock(clients, fcntl.LOCK_EX)
        if free is None:
            busy = time.time()
        elif time.time() - max(busy, clients.stat().st_mtime) >= idle_s:
            end_server(jvm)  # under the lock, so that a client that comes now waits and then starts a new server
            return True
        else:
            free.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            jvm.wait(min(1.0, idle_s / 5))
    return False


def end_server(jvm: subprocess.Popen[bytes]) -> None:
    """End the JVM: politely, then not."""
    if jvm.poll() is not None:
        return
    jvm.terminate()
    try:
        jvm.wait(STOP_S)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()


def supervise(launch: Mapping[str, Any]) -> int:
    """Keep one server alive; 0 after a stop, 1 when the JVM died, 3 when another supervisor is there."""
    folder = Path(launch["folder"])
    held = lock(folder / "supervisor.lock", fcntl.LOCK_EX)
    if held is None:
        return 3
    signal.signal(signal.SIGTERM, _ask_to_stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    write_pid(held)
    jvm = launch_jvm(launch["command"], folder)
    state = json.dumps({key: launch[key] for key in ("bolt_port", "http_port", "version")} | {"pid": jvm.pid})
    idle = False
    try:
        write_state(folder, state)
        idle = watch(jvm, folder, held, state, float(launch["idle_s"]))
    except OSError:
        pass  # the home was deleted under us: nobody can come any more
    finally:
        died = jvm.poll() is not None and not _asked_to_stop
        end(jvm, folder, held)
    if idle and launch["training"]:
        held.close()  # from here on we are nobody's supervisor
        os.execv(launch["training"][0], launch["training"])  # noqa: S606  our own program, as the launch names it
    return 1 if died else 0


def end(jvm: subprocess.Popen[bytes], folder: Path, held: IO[bytes]) -> None:
    """Stop the JVM and clear the state away. Where the folder was deleted, the JVM may write nothing more: there may be
    another one by now, with a server of its own."""
    if is_still(held, folder / "supervisor.lock"):
        end_server(jvm)
        (folder / "server.json").unlink(missing_ok=True)
    else:
        jvm.kill()
        jvm.wait()


if __name__ == "__main__":
    sys.exit(supervise(json.loads(sys.argv[1])))
