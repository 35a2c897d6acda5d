"""What a user sees: a command under a real pseudo-terminal, screen by screen."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from orchestrator.domain.ansi import plain
from tests.support.story import CLI, Story

_REDRAWN = re.compile(r"(?:\x1b\[1A\x1b\[2K|\r\x1b\[2K)+")


@dataclass
class Terminal:
    """A pseudo-terminal and the command whose stderr it is; `reads` says whether somebody takes from it what is drawn,
    `name` is its path."""

    process: subprocess.Popen[str]
    screen: int
    name: str
    reads: threading.Event = field(default_factory=threading.Event)
    drawn: bytearray = field(default_factory=bytearray)

    def read(self) -> None:
        """Take in what is drawn until the last writer has left."""
        try:
            while self.reads.wait(60) and (piece := os.read(self.screen, 65_536)):
                self.drawn += piece
        except OSError:  # Linux says EIO where others say end of file
            pass

    def stand_still(self) -> None:
        """Take nothing any more, and fill it, so that whoever writes to it waits."""
        self.reads.clear()
        full, refused = os.open(self.name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY), 0
        while refused < 3:
            try:
                os.write(full, b" " * 1024)
                refused = 0
            except BlockingIOError:
                refused += 1
                time.sleep(0.1)
        os.close(full)

    @property
    def screens(self) -> list[str]:
        """Each state of what is redrawn in place, as lines of text, with what scrolled by before it."""
        states = _REDRAWN.split(self.drawn.decode("utf-8", "replace"))
        return [plain(state).replace("\r", "") for state in states]


@contextmanager
def on_terminal(story: Story, *arguments: str, columns: int = 100) -> Iterator[Terminal]:
    """Run orchestrate with stderr on a terminal of so many columns and 24 lines; stdout is a pipe."""
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    running = subprocess.Popen(
        (*CLI, *arguments),
        cwd=story.repository,
        env={name: value for name, value in story.environ.items() if name != "COLUMNS"} | {"TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
    )
    shown = Terminal(running, screen, os.ttyname(terminal))
    os.close(terminal)
    shown.reads.set()
    reader = threading.Thread(target=shown.read, daemon=True)
    reader.start()
    try:
        yield shown
    finally:
        shown.reads.set()
        running.communicate(timeout=120)
        reader.join(30)
        os.close(screen)


def with_words(screens: Sequence[str], words: str) -> list[str]:
    """The states that show these words."""
    return [state for state in screens if words in state]
