"""The newest words of the replies that are coming, safe to show: kept for the screen, which looks when it draws.

The thread that reads a reply only leaves its pieces here, so that no display can slow or break the reading.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.config.secrets import Redactor
from orchestrator.domain.ansi import finished, plain

MOST_HEARD = 256 * 1024
"""Characters of one reply that are listened to: more is no text that anybody reads while it comes."""
_KEPT = 400  # characters: more than a line of any screen
_AT_ONCE = 4096  # characters that wait for the screen to look


@dataclass(frozen=True, slots=True)
class NewestWords:
    """A reply under way: the milliseconds until its first word, and its newest words, without secrets and sequences."""

    first_ms: float
    words: str


class ReplyWords:
    """One conversation's replies, one after the other (LiveText). `clock` gives seconds that never go backwards."""

    def __init__(self, redact: Redactor, clock: Callable[[], float] = time.monotonic) -> None:
        self._redact, self._clock = redact, clock
        self._lock = threading.Lock()
        self._begin(None)

    def _begin(self, since: float | None) -> None:
        self._since = since
        self._first_ms: float | None = None
        self._waiting = ""  # what may yet turn out to be a secret or a sequence is at its end
        self._words = ""
        self._heard = 0

    def begin(self) -> None:
        """A request goes out."""
        with self._lock:
            self._begin(self._clock())

    def hear(self, piece: str) -> None:
        """Keep a piece of the reply to it."""
        with self._lock:
            if self._since is None or not piece:
                return
            if self._first_ms is None:
                self._first_ms = (self._clock() - self._since) * 1000
            piece = piece[: MOST_HEARD - self._heard]
            self._heard += len(piece)
            self._waiting += piece
            if len(self._waiting) > _AT_ONCE:
                self._take()

    def end(self) -> None:
        """Forget it: what still comes is not shown."""
        with self._lock:
            self._begin(None)

    def newest(self) -> NewestWords | None:
        """What can be shown now; None while no word has come, and after the end."""
        with self._lock:
            if self._first_ms is None:
                return None
            self._take()
            return NewestWords(self._first_ms, self._words)

    def _take(self) -> None:
        """Move what is settled from what waits to the words. Sequences go first: one must not hide within a secret."""
        whole = finished(self._waiting)
        text, begun = plain(self._waiting[:whole]), self._waiting[whole:]
        settled = self._redact.settled(text)
        self._words = (self._words + self._redact(text[:settled]))[-_KEPT:]
        self._waiting = text[settled:] + begun


class LiveReplies:
    """The replies of all conversations, by the task whose they are."""

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact
        self._by_task: dict[str, ReplyWords] = {}

    def of(self, task: str) -> ReplyWords:
        """Where a task's replies go."""
        return self._by_task.setdefault(task, ReplyWords(self._redact))

    def newest(self, task: str) -> NewestWords | None:
        """A task's reply under way."""
        return self._by_task[task].newest() if task in self._by_task else None
