"""What became of each turn, as one structured log line. The same facts are on Turn, ToolCall and GuardEvent."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

from orchestrator.domain.events import Event, Finished, ReplyReceived, ToolFinished, ToolRequested, TurnRequested
from orchestrator.domain.model_io import ToolCall
from orchestrator.domain.text import camel
from orchestrator.engine.loop.journal import Journal

LOGGER = "orchestrate.turn"
_log = logging.getLogger(LOGGER)
_CUT = 200  # characters of arguments and reasons


class TurnLog:
    """A journal's subscriber: one line a turn, written when the next one begins or the conversation is over. Whoever
    writes it to a file replaces secrets (cli/logs.py)."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._number = 0
        self._events: list[Event] = []

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
            "task": self._task,
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
            **{camel(name): getattr(now, name) for name in now.__slots__},
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
