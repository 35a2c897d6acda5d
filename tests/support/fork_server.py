"""A process that has imported orchestrate and forks a child for each call of it: `python -m` without its imports.

Run as a program with one end of a socket as its stdin. A request is a line of JSON, {"folder", "environ", "arguments"},
with four descriptors: the child's streams, and where to write how it ended. The answer is a line with its pid. The
child is `python -m orchestrator` in all that a test can see: its streams, environment, signals and exit are made as
Python makes them. This process has one thread, so that a fork copies no lock that somebody holds.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from orchestrator.cli import COMMANDS

LATER = ("orchestrator.app", "agents.chat.model_chat", "agents.worker", "agents.verifier", "agents.planner",
         "orchestrator.cli.render.screen", "orchestrator.cli.render.overview", "rich.live")  # fmt: skip
"""What a command imports only when it needs it."""

STREAMS = 3


def serve(tester: socket.socket) -> None:
    """Fork as asked until the tester is gone. Returns in each child, which is then to do what it was forked for."""
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tester's Ctrl-C ends the tester, and that us
    tell: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([tester.fileno(), ended], [], [])
        if ended in ready:
            os.read(ended, 1024)
            _reap(tell)
        if tester.fileno() in ready:
            request, descriptors = _receive(tester)
            if not request:
                os._exit(0)
            pid = os.fork()
            if pid == 0:
                tester.detach()
                return _become(json.loads(request), descriptors)
            tell[pid] = descriptors[STREAMS]
            for descriptor in descriptors[:STREAMS]:
                os.close(descriptor)
            tester.sendall(f"{pid}\n".encode())


def _reap(tell: dict[int, int]) -> None:
    """Say of each child that has ended how it did."""
    while tell:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        os.write(tell[pid], f"{os.waitstatus_to_exitcode(status)}".encode())
        os.close(tell.pop(pid))


def _receive(tester: socket.socket) -> tuple[bytes, list[int]]:
    """A request and its descriptors; nothing when the tester has ended."""
    request, descriptors, _, _ = socket.recv_fds(tester, 65_536, STREAMS + 1)
    while request and not request.endswith(b"\n"):
        request += tester.recv(65_536)
    return request, descriptors


def _become(request: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Be as a process that was just started."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in range(STREAMS):
        os.dup2(descriptors[number], number)
    os.closerange(STREAMS, max(descriptors) + 1)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.path[0] = request["folder"]
    sys.argv = ["-m", *request["arguments"]]
    _open_streams()


def _open_streams() -> None:
    """The streams as Python opens them for pipes; encoding and errors are those of the same environment."""
    out, err = sys.stdout, sys.stderr
    sys.stdin = open(0, encoding=out.encoding, errors=out.errors, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=out.encoding, errors=out.errors, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding=err.encoding, errors=err.errors, closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    for name in (*LATER, *(f"orchestrator.cli.{module}" for module, _ in COMMANDS.values())):
        import_module(name)
    gc.freeze()  # the children share what is there, instead of copying it when it is looked at
    serve(socket.socket(fileno=os.dup(0)))
    runpy.run_module("orchestrator", run_name="__main__", alter_sys=True)
