"""What cuts everything under way short, and why, so that no attempt is closed with a cause that nobody saw."""

from __future__ import annotations

import threading
import weakref


class CancelToken(threading.Event):
    """Set once, with its reason: a sentence for a person. The first one stands. Those below one are set with it: what
    halts a run halts its attempts, and not the other way round."""

    def __init__(self, above: CancelToken | None = None) -> None:
        super().__init__()
        self._reasons: list[str] = []
        self._below: weakref.WeakSet[CancelToken] = weakref.WeakSet()
        if above is not None:
            above._below.add(self)
            if above.is_set():  # looked at behind joining, so that neither side can miss the other
                self.cancel(above.reason)

    @property
    def reason(self) -> str:
        """Why; empty as long as nothing halts."""
        return next(iter(self._reasons), "")

    def cancel(self, reason: str) -> None:
        """Cancel for this reason. Called from any thread, and by the signal handler."""
        self._reasons.append(reason)  # before set(): whoever sees the one finds the other
        self.set()
        for token in tuple(self._below):
            token.cancel(reason)
