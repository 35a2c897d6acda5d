"""Deadline: elapsed or working time of one attempt. Working time leaves out waiting for rate limits; neither counts the
time between a death and Resumed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from orchestrator.domain.events import Event, Finished, GuardFired, ReplyReceived, Resumed, ToolRequested, TurnRequested
from orchestrator.domain.verdict import ALLOW, Verdict, Warn
from orchestrator.guards.guard import finishing, stop

NAME = "deadline"


@dataclass(frozen=True, slots=True)
class Deadline:
    """`limit` and `away` are seconds; None is unbounded. It stops before a model call or a tool call, never one that
    finishes the work."""

    limit: float | None
    shares: tuple[float, ...]
    working: bool = False
    started: datetime | None = None
    away: float = 0.0
    warned: int = 0

    def observe(self, event: Event) -> tuple[Deadline, Verdict]:
        """Take the time from `event.at`."""
        if self.limit is None or isinstance(event, Finished | GuardFired):
            return self, ALLOW
        if self.started is None:
            return replace(self, started=event.at), ALLOW
        if isinstance(event, Resumed):
            gone = max((event.at - event.last_event_at).total_seconds(), 0.0)
            return replace(self, away=self.away + gone), ALLOW
        if self.working and isinstance(event, ReplyReceived) and event.wait_ms > 0:
            return replace(self, away=self.away + event.wait_ms / 1000)._judge(event, self.started, self.limit)
        return self._judge(event, self.started, self.limit)

    def _judge(self, event: Event, started: datetime, limit: float) -> tuple[Deadline, Verdict]:
        seconds = (event.at - started).total_seconds() - self.away
        if seconds >= limit and _begins_something(event):
            kind = "working time" if self.working else "elapsed time"
            return self, stop(NAME, "deadline", seconds, limit, {"measured": kind})
        if seconds < self.shares[0] * limit if self.shares else True:
            return self, ALLOW
        return self._warn(seconds, limit)

    def _warn(self, seconds: float, limit: float) -> tuple[Deadline, Verdict]:
        crossed = sum(seconds >= share * limit for share in self.shares)
        if crossed <= self.warned:
            return self, ALLOW
        left = max(limit - seconds, 0.0)
        message = f"{seconds:.0f} of {limit:g} seconds have passed, {left:.0f} remain. Finish soon."
        evidence = {"used": seconds, "limit": limit, "remaining": left}
        return replace(self, warned=crossed), Warn(NAME, "deadline", message, seconds, limit, evidence)


def _begins_something(event: Event) -> bool:
    if isinstance(event, ToolRequested):
        return not finishing(event.call)
    return isinstance(event, TurnRequested)
