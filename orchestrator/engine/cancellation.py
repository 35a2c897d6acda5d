"""What cuts everything under way short, and why, so that no attempt is closed with a cause that nobody saw."""

from __future__ import annotations

import threading


class CancelToken(threading.Event):
    """Set once, with its reason: a sentence for a person. The first one stands. One below `above` is set with it too:
    what halts a run halts its attempts, and not the other way round."""

    def __init__(self, above: CancelToken | None = None) -> None:
        super().__init__()
        self._reasons: list[str] = []
        self._above = above

    @property
    def reason(self) -> str:
        """Why; empty as long as nothing halts."""
        if self._reasons or self._above is None:
            return next(iter(self._reasons), "")
        return self._above.reason

    def is_set(self) -> bool:
        """Whether this is to end."""
        return super().is_set() or (self._above is not None and self._above.is_set())

    def cancel(self, reason: str) -> None:
        """Cancel for this reason. Called from any thread, and by the signal handler."""
        self._reasons.append(reason)  # before set(): whoever sees the one finds the other
        self.set()
