"""What is shown and logged of a conversation while it happens: projections of the events that have become durable."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.domain.events import (
    Event,
    Finished,
    GuardFired,
    ReplyReceived,
    ToolFinished,
    ToolRequested,
    TurnRequested,
)
from orchestrator.domain.model_io import ToolCall
from orchestrator.domain.progress import CallFinished, CallStarted, GuardSpoke, Listener, Progress, TurnStarted
from orchestrator.engine.loop.journal import Journal

LOGGER = "orchestrate.turn"
_log = logging.getLogger(LOGGER)
_CUT = 200  # characters of arguments and reasons


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
        counters = journal.guard_set.counters
        return TurnStarted(
            at=event.at,
            task=self.task,
            attempt=self.attempt,
            turn=counters.turns_used + 1,
            turns=counters.turns_limit,
            calls_used=counters.calls_used,
            budget=counters.calls_limit,
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


@dataclass(slots=True)
class TurnLog:
    """A journal's subscriber: one line a turn, written when the next one begins or the conversation is over. Whoever
    writes it to a file replaces secrets (cli/logs.py)."""

    task: str
    _number: int = 0
    _events: list[Event] = field(default_factory=list)

    def __call__(self, journal: Journal, events: Sequence[Event]) -> None:
        """Collect the turn's events; write its line when they are complete."""
        for event in events:
            if isinstance(event, TurnRequested | Finished):
                self._write(journal)
                self._events.clear()
            self._events.append(event)

    def _write(self, journal: Journal) -> None:
        turn = next((event for event in self._events if isinstance(event, TurnRequested)), None)
        if turn is None:
            return
        self._number += 1
        if _log.isEnabledFor(logging.INFO):
            _log.info("%s", json.dumps(self._line(journal, turn), ensure_ascii=False))

    def _line(self, journal: Journal, turn: TurnRequested) -> dict[str, Any]:
        request, now, owner = turn.request, journal.guard_set.counters, journal.owner
        reply = next((event for event in self._events if isinstance(event, ReplyReceived)), None)
        unsent = reply is None or reply.reply.finish_reason == "not_sent"
        return {
            "task": self.task,
            "attempt": owner.attempt_id or owner.id,
            "of": owner.label,
            "turn": self._number,
            "seq": turn.seq,
            "status": "not_sent" if unsent else "failed" if reply and reply.failed else "replied",
            "historyMessages": request.history_messages,
            "windowMessages": request.window_messages,
            "windowTokens": request.window_tokens,
            "compacted": request.compacted,
            "toolsWithheld": request.tools_withheld,
            "callsUsed": now.calls_used,
            "callsLimit": now.calls_limit,
            "requestsUsed": now.requests_used,
            "requestsLimit": now.requests_limit,
            "stallCount": now.stall_count,
            "turnsUsed": now.turns_used,
            "turnsLimit": now.turns_limit,
            "stopped": journal.guard_set.stopped.code if journal.guard_set.stopped else None,
            "calls": [self._call(call) for call in reply.reply.calls] if reply else [],
        }

    def _call(self, call: ToolCall) -> dict[str, Any]:
        verdict, why = self._verdict(call)
        return {
            "seq": call.seq,
            "callId": call.call_id,
            "tool": call.tool,
            "arguments": _cut(call.arguments_json),
            "signature": call.signature,
            "verdict": verdict,
            "why": _cut(why),
        }

    def _verdict(self, call: ToolCall) -> tuple[str, str]:
        mine = [e for e in self._events if isinstance(e, ToolRequested | ToolFinished) and e.seq == call.seq]
        finished = next((event for event in mine if isinstance(event, ToolFinished)), None)
        if finished is None:
            return "skipped", "the attempt ended before it"
        if finished.status == "duplicate":
            earlier = next(event.duplicate_of for event in mine if isinstance(event, ToolRequested))
            return "duplicate", f"same as call {earlier}"
        if finished.status == "refused":
            return "refused", finished.result.text
        return ("malformed", call.defect) if call.defect is not None else ("unique", "")


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else f"{text[: _CUT - 1]}…"
