"""What a person sees of a conversation while it happens: a projection of the events that have become durable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.domain.events import Event, GuardFired, ReplyReceived, ToolFinished, ToolRequested, TurnRequested
from orchestrator.domain.progress import CallFinished, CallStarted, GuardSpoke, Listener, Progress, TurnStarted
from orchestrator.engine.loop.journal import Journal


@dataclass(frozen=True, slots=True)
class ProgressFeed:
    """A journal's subscriber that tells a listener whose conversation it is and what happens in it."""

    listener: Listener
    task: str
    attempt: int

    def __call__(self, journal: Journal, events: Sequence[Event]) -> None:
        """Tell what the events mean for whoever watches."""
        for progress in self._told(journal, events):
            self.listener(progress)

    def _told(self, journal: Journal, events: Sequence[Event]) -> Iterator[Progress]:
        over = {event.seq for event in events if isinstance(event, ReplyReceived | ToolFinished)}
        for event in events:
            match event:
                case TurnRequested() if event.seq not in over:  # else it was never sent
                    yield self._turn_started(journal, event)
                case ToolRequested() if event.seq not in over:  # else it was answered without being executed
                    yield self._call_started(journal, event)
                case ToolFinished():
                    yield self._call_finished(journal, event)
                case GuardFired(verdict=verdict):
                    yield GuardSpoke(at=event.at, task=self.task, attempt=self.attempt, verdict=verdict)

    def _turn_started(self, journal: Journal, event: TurnRequested) -> TurnStarted:
        return TurnStarted(
            at=event.at,
            task=self.task,
            attempt=self.attempt,
            turn=event.seq,
            calls_used=journal.guard_set.calls_executed,
            budget=journal.guard_set.budget,
            tokens=journal.usage.tokens,
            cost_usd=journal.usage.cost_usd,
        )

    def _call_started(self, journal: Journal, event: ToolRequested) -> CallStarted:
        return CallStarted(
            at=event.at,
            task=self.task,
            attempt=self.attempt,
            tool=event.call.tool,
            summary=event.call.brief,
            calls_used=journal.guard_set.calls_executed,
            budget=journal.guard_set.budget,
        )

    def _call_finished(self, journal: Journal, event: ToolFinished) -> CallFinished:
        return CallFinished(
            at=event.at,
            task=self.task,
            attempt=self.attempt,
            tool=event.call.tool,
            summary=event.call.brief,
            status=event.status,
            duration_ms=event.result.duration_ms,
            calls_used=journal.guard_set.calls_executed,
            budget=journal.guard_set.budget,
            tokens=journal.usage.tokens,
            cost_usd=journal.usage.cost_usd,
        )
