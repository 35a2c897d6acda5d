"""Deadline: elapsed or working time of one attempt. Working time leaves out waiting for rate limits; neither counts the
time between a death and Resumed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from orchestrator.domain.events import Event, Finished, GuardFired, ReplyReceived, Resumed, ToolRequested, TurnRequested
from orchestrator.domain.verdict import ALLOW, Evidence, Verdict, Warn
from orchestrator.guards.guard import finishing, stop

_NAME = "deadline"


@dataclass(frozen=True, slots=True)
class DeadlineGuard:
    """`limit` and `away` are seconds; None is unbounded. It stops before a model call or a tool call, never one that
    finishes the work. `passed` are the seconds used at the newest event, `turn_at` those at the newest turn's
    beginning; a turn whose like would end behind the limit has its tools withheld, and `forced` is when that would have
    been."""

    limit: float | None
    shares: tuple[float, ...]
    working: bool = False
    started: datetime | None = None
    away: float = 0.0
    warned: int = 0
    passed: float = 0.0
    turn_at: float | None = None
    forced: float | None = None

    @property
    def withholds_tools(self) -> bool:
        """Whether the next turn is the last one that is going to fit."""
        return self.limit is not None and self.turn_at is not None and self._ahead >= self.limit

    @property
    def _ahead(self) -> float:
        """When a turn as long as the newest one would end, were it begun now."""
        return self.passed + (self.passed - (self.turn_at or 0.0))

    def seconds_left(self, at: datetime) -> float | None:
        """Until the limit; None without one."""
        if self.limit is None or self.started is None:
            return None
        return self.limit - ((at - self.started).total_seconds() - self.away)

    def observe(self, event: Event) -> tuple[DeadlineGuard, Verdict]:
        """Take the time from `event.at`."""
        if self.limit is None or isinstance(event, Finished | GuardFired):
            return self, ALLOW
        if self.started is None:
            begun = isinstance(event, TurnRequested)
            return replace(self, started=event.at, turn_at=0.0 if begun else None), ALLOW
        if isinstance(event, Resumed):
            gone = max((event.at - event.last_event_at).total_seconds(), 0.0)
            return replace(self, away=self.away + gone), ALLOW
        waited = event.reply.wait_ms / 1000 if self.working and isinstance(event, ReplyReceived) else 0.0
        away = self.away + max(waited, 0.0)
        passed = (event.at - self.started).total_seconds() - away
        held = self._in_turn(event, passed) if isinstance(event, TurnRequested) else self
        return replace(held, away=away, passed=passed)._judge(event, self.limit)

    def _in_turn(self, event: TurnRequested, passed: float) -> DeadlineGuard:
        forced = self._ahead if self.withholds_tools and event.request.tools_withheld else None
        return replace(self, turn_at=passed, forced=forced)

    def _judge(self, event: Event, limit: float) -> tuple[DeadlineGuard, Verdict]:
        kind = "working time" if self.working else "elapsed time"
        if self.passed >= limit and _begins_something(event):
            return self, stop(_NAME, "deadline", self.passed, limit, {"measured": kind})
        asked = _asks_further(event)
        if self.forced is not None and asked:
            evidence: Evidence = {"measured": kind, "asked for in the finishing turn": asked}
            return self, stop(_NAME, "deadline", self.forced, limit, evidence)
        return self._warn(limit)

    def _warn(self, limit: float) -> tuple[DeadlineGuard, Verdict]:
        """One warning an event: where a step jumps over two shares, the second is told with the next one."""
        if self.warned >= len(self.shares) or self.passed < self.shares[self.warned] * limit:
            return self, ALLOW
        left, share = max(limit - self.passed, 0.0), self.shares[self.warned]
        message = f"{self.passed:.0f} of {limit:g} seconds have passed, {left:.0f} remain. Finish soon."
        evidence = {"used": self.passed, "limit": limit, "remaining": left, "share": share}
        return replace(self, warned=self.warned + 1), Warn(
            _NAME, "deadline", message, observed=self.passed, limit=limit, evidence=evidence
        )


def _begins_something(event: Event) -> bool:
    if isinstance(event, ToolRequested):
        return not finishing(event.call)
    return isinstance(event, TurnRequested)


def _asks_further(event: Event) -> str:
    """The first call of a reply that finishes nothing."""
    calls = event.reply.calls if isinstance(event, ReplyReceived) else ()
    return next((call.tool for call in calls if not finishing(call)), "")
