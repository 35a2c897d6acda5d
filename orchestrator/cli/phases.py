"""What goes on for a while without a further word (opening the graph, preparing a workspace, a check), on stderr.

A terminal shows it in place with the time that it takes, a pipe gets one line for what takes longer than AFTER_S.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol

from orchestrator.cli.render.text import clean, duration, one_line
from orchestrator.domain import progress as p

AFTER_S = 2.0
TICK_S = 0.25
_CLEAR = "\r\x1b[K"


class PhaseDisplay(Protocol):
    """Shows phases, each by a key of its own, from its beginning to its end."""

    def begin(self, key: str, words: str) -> None:
        """A phase has begun."""

    def end(self, key: str) -> None:
        """It is over; a key that has not begun is left alone."""


class LateLines:
    """For a pipe: one line for each phase that takes longer than `after_s` seconds."""

    def __init__(self, write: Callable[[str], None], after_s: float = AFTER_S) -> None:
        self._write, self._after_s = write, after_s
        self._timers: dict[str, threading.Timer] = {}

    def begin(self, key: str, words: str) -> None:
        """Write the words unless the phase ends before."""
        self.end(key)
        timer = threading.Timer(self._after_s, self._write, (words,))
        timer.daemon = True
        self._timers[key] = timer
        timer.start()

    def end(self, key: str) -> None:
        """Write nothing more of this phase."""
        if timer := self._timers.pop(key, None):
            timer.cancel()


class LineInPlace:
    """For a terminal: the newest phase and its time on one line, which is gone when the last one is over."""

    def __init__(self, tick_s: float = TICK_S) -> None:
        self._tick_s = tick_s
        self._phases: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()

    def begin(self, key: str, words: str) -> None:
        """Show the phase from the next tick on, so that one which is over at once does not flicker."""
        with self._lock:
            self._phases[key] = (words, time.monotonic())
            if len(self._phases) == 1:
                self._over = threading.Event()
                threading.Thread(target=self._draw, args=(self._over,), daemon=True).start()

    def end(self, key: str) -> None:
        """Show it no more."""
        with self._lock:
            if self._phases.pop(key, None) and not self._phases:
                self._over.set()
                self.clear()

    def clear(self) -> None:
        """Make room for another line."""
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()

    def _draw(self, over: threading.Event) -> None:
        while not over.wait(self._tick_s):
            with self._lock:
                if over.is_set():
                    return
                words, since = list(self._phases.values())[-1]
                elapsed = duration((time.monotonic() - since) * 1000)
                room = shutil.get_terminal_size().columns - len(elapsed) - 3
                sys.stderr.write(f"{_CLEAR}{one_line(words, room)}  {elapsed}")
                sys.stderr.flush()


class PhaseListener:
    """What a command shows of phases where no progress is shown; `say` puts a message among them."""

    def __init__(self) -> None:
        can_redraw = sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
        self._in_place = LineInPlace() if can_redraw else None
        self._display: PhaseDisplay = self._in_place or LateLines(self.say)

    def __call__(self, event: p.Progress) -> None:
        """Show the phase that begins, or no longer the one that is over."""
        show_phase(self._display, event)

    def say(self, message: str) -> None:
        """One message on a line of its own."""
        if self._in_place:
            self._in_place.clear()
        write_line(clean(message))


def write_line(text: str) -> None:
    """One line on stderr. A reader of stderr who left must not stop the run."""
    with contextlib.suppress(BrokenPipeError, ValueError, RuntimeError):  # closed, or a signal spoke while we wrote
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def show_phase(display: PhaseDisplay, event: p.Progress) -> None:
    """Begin or end the phase that has begun or ended; leave other events alone."""
    if isinstance(event, p.PhaseStarted):
        display.begin(event.words, event.words)
    if isinstance(event, p.PhaseEnded):
        display.end(event.words)


def show_check(display: PhaseDisplay, event: p.Progress) -> None:
    """Begin or end the check that has begun or ended, alike; an attempt that is cut off ends its check too."""
    match event:
        case p.CheckStarted():
            display.begin(f"check of {event.task}", f"{clean(event.task)} #{event.attempt} {check_words(event)}")
        case p.CheckFinished() | p.AttemptFinished():
            display.end(f"check of {event.task}")


def check_words(event: p.CheckStarted) -> str:
    """Which check runs, of how many, in which phase."""
    of = f"{event.number}/{event.total} " if event.total > 1 else ""
    return f"{event.phase} check {of}{one_line(event.command, 80)}"
