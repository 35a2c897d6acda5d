"""Processes of orchestrate that do not import it first: children of a fork server (fork_server.py) of this process.

A story that kills or signals a run wants a process of its own, with a pid, pipes and an end; that Python needs a second
to import it all says nothing about it. The entry that users call is tested in cli/test_processes.py and by the README.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).parents[2]
READ_AT_START = ("PYTHON", "LANG", "LC_", "HOME", "XDG_", "GIT_", "LD_", "TZ", "SSL_")
"""Beginnings of the variables that Python and libraries read once: a server is for one choice of them."""


class Forked:
    """A process, as subprocess.Popen shows one: stdout and stderr are pipes of text, stdin is empty."""

    def __init__(self, arguments: tuple[str, ...], folder: Path, environ: Mapping[str, str]) -> None:
        self.returncode: int | None = None
        out, err, end = os.pipe(), os.pipe(), os.pipe()
        self.stdout, self.stderr = _text(out[0]), _text(err[0])
        self._end, self._arguments = end[0], arguments
        at_start = tuple(sorted((name, value) for name, value in environ.items() if name.startswith(READ_AT_START)))
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123  there is no such path on every system
            request = {"folder": str(folder), "environ": dict(environ), "arguments": arguments}
            self.pid = _ask(_server(at_start)[0], request, (nothing.fileno(), out[1], err[1], end[1]))
        for _, theirs in (out, err, end):
            os.close(theirs)

    def poll(self) -> int | None:
        """How it ended, if it has."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(timeout=0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """How it ends: its exit code, or minus the signal. Raises TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._end], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self._arguments, timeout or 0)
            self.returncode = int(os.read(self._end, 16))
            os.close(self._end)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """All that it writes until it ends. Raises TimeoutExpired, of a process that is killed then."""
        with ThreadPoolExecutor(2) as pool:
            written = pool.submit(self.stdout.read), pool.submit(self.stderr.read)
            try:
                texts = written[0].result(timeout), written[1].result(timeout)
            except TimeoutError:
                self.kill()
                raise subprocess.TimeoutExpired(self._arguments, timeout or 0) from None
        self.wait(timeout)
        self.stdout.close()
        self.stderr.close()
        return texts

    def send_signal(self, number: int) -> None:
        """Signal it, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


def _text(descriptor: int) -> TextIO:
    return open(descriptor, encoding="utf-8")


def _ask(server: socket.socket, request: Mapping[str, object], descriptors: tuple[int, ...]) -> int:
    """The pid of the child that the server forks."""
    line = f"{json.dumps(request)}\n".encode()
    sent = socket.send_fds(server, [line], descriptors)
    server.sendall(line[sent:])
    with server.makefile() as answers:
        return int(answers.readline())


@cache
def _server(at_start: tuple[tuple[str, str], ...]) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """A server that was started with these variables, and our end of its socket; it ends when we do."""
    ours, theirs = socket.socketpair()
    with theirs:
        environ = {"PATH": os.environ["PATH"], **dict(at_start)}
        command = (sys.executable, "-m", "tests.support.fork_server")
        return ours, subprocess.Popen(command, cwd=ROOT, env=environ, stdin=theirs.fileno())
