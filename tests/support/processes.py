"""Processes of which a test waits for something, or which it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable

from tests.support.forked import Forked


def wait_until(seen: Callable[[], bool], seconds: float = 100) -> None:
    """Wait for something to be seen, with a bound."""
    assert eventually(seen, seconds), "waited in vain"


def eventually(true: Callable[[], bool], seconds: float = 100) -> bool:
    """Whether it becomes true in time."""
    deadline = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def kill(process: Forked) -> None:
    """SIGKILL, as the kernel does when memory runs out."""
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=10)


def alive(pid: int | None) -> bool:
    """Whether there is such a process (a zombie that nobody reaped counts as gone)."""
    listing = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(listing.stdout.strip()) and not listing.stdout.startswith("Z")


def read_terminal(screen: int) -> str:
    """What a terminal was sent until its last writer has left."""
    drawn = b""
    try:
        while piece := os.read(screen, 65536):
            drawn += piece
    except OSError:  # Linux says EIO where others say end of file
        pass
    os.close(screen)
    return drawn.decode("utf-8", "replace")
