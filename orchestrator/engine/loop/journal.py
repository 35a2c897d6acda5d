"""The journal of one owner: every event is recorded, then judged by the guards, then acted upon.

Events are buffered and written in one transaction just before the next side effect, so that the graph is never behind
the world by more than one call in doubt. Subscribers hear of events when they are durable, so that whatever is shown or
logged was recorded before; the one exception is a reply's text while it comes (domain/live_text.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from orchestrator.domain.attempt import Owner
from orchestrator.domain.events import Event, GuardFired, ToolFinished, ToolRequested
from orchestrator.domain.usage import Usage
from orchestrator.domain.verdict import Refuse, Stop, Verdict, Warn
from orchestrator.guards.guard_set import GuardSet


class Recorder(Protocol):
    """The part of GraphWriter that a journal needs."""

    def record(self, owner: Owner, events: Sequence[Event]) -> None:
        """Write an owner's facts, in order, in one transaction."""
        ...


Subscriber = Callable[["Journal", Sequence[Event]], None]
"""Hears of the events that have just become durable; the journal's guards and usage are those behind them."""


class Journal:
    """Records and judges one owner's events. `warnings` are those that nobody has told the model yet, `stop` is the
    first Stop that was said. Not thread-safe: one conversation has one journal."""

    def __init__(
        self, writer: Recorder, owner: Owner, guard_set: GuardSet, subscribers: Sequence[Subscriber] = ()
    ) -> None:
        self.guard_set = guard_set
        self.owner = owner
        self.usage = Usage()
        self.warnings: list[str] = []
        self.stop: Stop | None = None
        self._writer = writer
        self._subscribers = subscribers
        self._buffer: list[Event] = []
        self._seq = 0

    def next_seq(self) -> int:
        """The next sequence number, unique among this owner's facts."""
        self._seq += 1
        return self._seq

    def append(self, event: Event) -> tuple[Verdict, ...]:
        """Record the event and what the guards say to it; strictest verdict first, without Allow."""
        self._buffer.append(event)
        self.usage = self.usage.after(event)
        stopped_before = self.guard_set.stopped
        self.guard_set, verdicts = self.guard_set.judge(event)
        if stopped_before is not None:  # a Stop is absorbing, and recorded once
            self.stop = self.stop or stopped_before
            return verdicts
        call_seq = event.seq if isinstance(event, ToolRequested | ToolFinished) else None
        return self.append_verdicts(verdicts, event.at, call_seq)

    def append_verdicts(
        self, verdicts: tuple[Verdict, ...], at: datetime, call_seq: int | None = None
    ) -> tuple[Verdict, ...]:
        """Record verdicts before they take effect: the guards', or those of the ledger of run and task."""
        for verdict in verdicts:
            if isinstance(verdict, Warn | Refuse | Stop):
                used, seq = self.guard_set.calls_executed, self.next_seq()
                self._buffer.append(GuardFired(seq=seq, at=at, at_tool_call=used, verdict=verdict, call_seq=call_seq))
            if isinstance(verdict, Warn):
                self.warnings.append(verdict.message)
            if isinstance(verdict, Stop):
                self.stop = self.stop or verdict
        return verdicts

    def flush(self) -> None:
        """Make everything durable; nothing may act on an event before this. Raises GraphError kinds."""
        if self._buffer:
            self._writer.record(self.owner, tuple(self._buffer))
            self._tell()

    def flush_if(self, write: Callable[[Owner, Sequence[Event]], bool]) -> None:
        """Make everything durable by a `write` that may decline; then it is still to be flushed."""
        if write(self.owner, tuple(self._buffer)):
            self._tell()

    def _tell(self) -> None:
        durable = tuple(self._buffer)
        self._buffer.clear()
        for subscriber in self._subscribers:
            subscriber(self, durable)
