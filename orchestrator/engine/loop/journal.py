"""The journal of one owner: every event is recorded, then judged by the GuardSet, then acted upon.

Events are buffered and written in one transaction just before the next side effect, so that the graph is never behind
the world by more than one call in doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal, Protocol

from orchestrator.domain.attempt import Owner
from orchestrator.domain.events import Event, GuardFired, ToolFinished, ToolRequested
from orchestrator.domain.verdict import Refuse, Stop, Verdict, Warn
from orchestrator.guards.guard_set import GuardSet


class Recorder(Protocol):
    """The part of GraphWriter that a journal needs."""

    def record(self, owner: Owner, events: Sequence[Event]) -> None:
        """Write an owner's facts, in order, in one transaction."""
        ...


class Journal:
    """Records and judges one owner's events. Not thread-safe: one conversation has one journal."""

    def __init__(self, writer: Recorder, owner: Owner, guard_set: GuardSet) -> None:
        self.guard_set = guard_set
        self.owner = owner
        self._writer = writer
        self._buffer: list[Event] = []
        self._seq = 0

    def next_seq(self) -> int:
        """The next sequence number, unique among this owner's facts."""
        self._seq += 1
        return self._seq

    def judge(self, event: Event) -> tuple[Verdict, ...]:
        """Record the event and what the guards say to it; strictest verdict first, without Allow."""
        self._buffer.append(event)
        stopped_before = self.guard_set.stopped is not None
        self.guard_set, verdicts = self.guard_set.judge(event)
        if stopped_before:
            return verdicts  # a Stop is absorbing, and recorded once
        call_seq = event.seq if isinstance(event, ToolRequested | ToolFinished) else None
        self._buffer.extend(self._fired(v, event.at, call_seq) for v in verdicts if isinstance(v, _SPOKEN))
        return verdicts

    def rule(self, verdicts: tuple[Verdict, ...], at: datetime) -> tuple[Verdict, ...]:
        """Record verdicts that are no guard's but the ledger's, before they take effect."""
        self._buffer.extend(self._fired(verdict, at, None) for verdict in verdicts if isinstance(verdict, _SPOKEN))
        return verdicts

    def flush(self) -> None:
        """Make everything durable; nothing may act on an event before this. Raises GraphError kinds."""
        if self._buffer:
            self._writer.record(self.owner, tuple(self._buffer))
            self._buffer.clear()

    def flush_if(self, write: Callable[[Owner, Sequence[Event]], bool]) -> None:
        """Make everything durable by a `write` that may decline; then it is still to be flushed."""
        if write(self.owner, tuple(self._buffer)):
            self._buffer.clear()

    def _fired(self, verdict: Warn | Refuse | Stop, at: datetime, call_seq: int | None) -> GuardFired:
        kind: Literal["warn", "refuse", "stop"] = KINDS[type(verdict)]
        return GuardFired(
            seq=self.next_seq(),
            at=at,
            at_tool_call=self.guard_set.calls_executed,
            guard=verdict.guard,
            verdict=kind,
            code=verdict.code,
            reason=verdict.message,
            observed=verdict.observed,
            limit=verdict.limit,
            evidence=verdict.evidence,
            call_seq=call_seq,
        )


_SPOKEN = (Warn, Refuse, Stop)
KINDS: dict[type[Verdict], Literal["warn", "refuse", "stop"]] = {Warn: "warn", Refuse: "refuse", Stop: "stop"}


def strictest_stop(verdicts: Sequence[Verdict]) -> Stop | None:
    """The Stop among the verdicts, if there is one."""
    return next((verdict for verdict in verdicts if isinstance(verdict, Stop)), None)
