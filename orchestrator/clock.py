"""The machine's time, and ids that nobody can guess."""

from __future__ import annotations

import secrets
import threading
import time
from datetime import UTC, datetime

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # without l, o, 0 and 1, which are misread
_ID_LENGTH = 9


class SystemClock:
    """The machine's time. Waiting ends early once `cancelled` is set: an interrupt need not outwait a backoff."""

    def __init__(self, cancelled: threading.Event) -> None:
        self._cancelled = cancelled

    def now(self) -> datetime:
        """The current instant in UTC, in the milliseconds that the graph keeps."""
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait, unless the run is cancelled."""
        self._cancelled.wait(seconds)


class RandomIds:
    """Ids that nobody can guess or confuse: a letter for the kind and nine characters."""

    def new(self, prefix: str) -> str:
        """A fresh id."""
        return prefix + "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))
