"""What became of a turn, as one structured log line. The same facts are on Turn, ToolCall and GuardEvent."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import Any, TypedDict

from orchestrator.domain.attempt import Owner
from orchestrator.domain.events import ReplyReceived, RequestedCall, ToolFinished, TurnRequested
from orchestrator.guards.guard_set import GuardSet

LOGGER = "orchestrate.turn"
_log = logging.getLogger(LOGGER)
_CUT = 200  # characters of arguments and reasons


class Standing(TypedDict):
    """Calls executed and asked for against their limits, and the stall count: TurnRequested's fields."""

    calls_used: int
    calls_limit: int
    requests_used: int
    requests_limit: int
    stall_count: int


def standing(guard_set: GuardSet) -> Standing:
    """How things stand."""
    return {
        "calls_used": guard_set.calls_executed,
        "calls_limit": guard_set.budget,
        "requests_used": guard_set.calls_requested,
        "requests_limit": guard_set.requests_limit,
        "stall_count": guard_set.stall_count,
    }


@dataclass
class TurnLog:
    """One turn, filled in as it goes. `duplicates` are the calls that an earlier one answers, with that one's seq."""

    number: int
    turn: TurnRequested
    reply: ReplyReceived | None = None
    finished: dict[int, ToolFinished] = field(default_factory=dict)
    duplicates: dict[int, int] = field(default_factory=dict)

    def log(self, task: str, owner: Owner, guard_set: GuardSet) -> None:
        """Write the line; whoever writes it to a file replaces secrets (cli/logs.py)."""
        if _log.isEnabledFor(logging.INFO):
            _log.info("%s", json.dumps(self._line(task, owner, guard_set), ensure_ascii=False))

    def _line(self, task: str, owner: Owner, guard_set: GuardSet) -> dict[str, Any]:
        turn, now = self.turn, standing(guard_set)
        return {
            "task": task,
            "attempt": owner.attempt_id or owner.id,
            "of": owner.label,
            "turn": self.number,
            "seq": turn.seq,
            "status": "not_sent" if self.reply is None else "failed" if self.reply.failed else "replied",
            "requestsUsed": now["requests_used"],
            "requestsLimit": now["requests_limit"],
            "historyMessages": turn.history_messages,
            "windowMessages": turn.window_messages,
            "windowTokens": turn.window_tokens,
            "compacted": turn.compacted,
            "toolsWithheld": turn.tools_withheld,
            "callsUsed": now["calls_used"],
            "callsLimit": now["calls_limit"],
            "stallCount": now["stall_count"],
            "stopped": guard_set.stopped.code if guard_set.stopped else None,
            "calls": [self._call(call) for call in self.reply.calls] if self.reply else [],
        }

    def _call(self, call: RequestedCall) -> dict[str, Any]:
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

    def _verdict(self, call: RequestedCall) -> tuple[str, str]:
        finished = self.finished.get(call.seq)
        if finished is None:
            return "skipped", "the attempt ended before it"
        if finished.status == "duplicate":
            return "duplicate", f"same as call {self.duplicates[call.seq]}"
        if finished.status == "refused":
            return "refused", finished.result
        return ("malformed", call.defect) if call.defect is not None else ("unique", "")


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else f"{text[: _CUT - 1]}…"
