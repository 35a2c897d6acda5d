"""What cuts everything under way short, and why, so that no attempt is closed with a cause that nobody saw."""

from __future__ import annotations

import threading


class CancelToken(threading.Event):
    """Set once, with its reason: a sentence for a person. The first one stands."""

    def __init__(self) -> None:
        super().__init__()
        self._reasons: list[str] = []

    @property
    def reason(self) -> str:
        """Why; empty as long as nothing halts."""
        return self._reasons[0] if self._reasons else ""

    def cancel(self, reason: str) -> None:
        """Cancel for this reason. Called from any thread, and by the signal handler."""
        self._reasons.append(reason)  # before set(): whoever sees the one finds the other
        self.set()
