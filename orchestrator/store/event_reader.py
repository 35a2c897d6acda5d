"""Reading an attempt's events back, field for field, in the order in which they happened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

from orchestrator.domain.errors import UserError
from orchestrator.domain.events import (
    BudgetDecided,
    Compacted,
    Event,
    FileWrite,
    Finished,
    GuardCounters,
    ProgressReported,
    ReplyReceived,
    Resumed,
    ScopeDecided,
    ToolFinished,
    ToolRequested,
    TurnRequested,
)
from orchestrator.domain.model_io import ModelReply, ModelRequest, ToolCall, ToolResult
from orchestrator.store.connection import Row, Transaction
from orchestrator.store.mapping import build, instant
from orchestrator.store.records import Records

_QUERIES = ("attempt_read", "events_turns", "events_calls", "events_writes", "events_checkpoints", "events_requests")


class EventReader(Records):
    """Events."""

    def events(self, attempt_id: str) -> tuple[Event, ...]:
        """An attempt's facts in the order of events.py, without GuardFired: Resumed first, then turn by turn, Finished
        last. A call that never finished has no ToolFinished. Raises UserError for an unknown id."""

        def work(tx: Transaction) -> dict[str, list[Row]]:
            return {name: tx.run(name, attemptId=attempt_id) for name in _QUERIES}

        rows = self._connection.read(work)
        if not rows["attempt_read"]:
            raise UserError(
                f"There is no attempt {attempt_id}.",
                next_step="`orchestrate list runs` names the runs, whose attempts show lists.",
            )
        return tuple(self._story(rows))

    def _story(self, rows: Mapping[str, list[Row]]) -> Iterator[Event]:
        attempt = rows["attempt_read"][0]["attempt"]
        calls = self._calls(rows)
        within = _within(rows)
        writes = _writes(rows["events_writes"])
        if attempt.get("resumedAt"):
            yield Resumed(at=instant(attempt["resumedAt"]), last_event_at=instant(attempt["resumedFrom"]))
        for row in rows["events_turns"]:
            turn = self._texts.whole(row["turn"])
            asked = calls[turn["seq"]]
            yield from _turn_events(turn, tuple(call for call, _ in asked))
            for call, stored in asked:
                yield from _call_events(call, stored, within[call.seq], writes[call.seq])
        if attempt.get("endedAt"):
            yield Finished(at=instant(attempt["endedAt"]), reason=attempt["endReason"])

    def _calls(self, rows: Mapping[str, list[Row]]) -> dict[int, list[tuple[ToolCall, Row]]]:
        """By turn, in the order asked."""
        found: dict[int, list[tuple[ToolCall, Row]]] = defaultdict(list)
        for row in rows["events_calls"]:
            stored = self._texts.whole(row["call"])
            found[stored["turnSeq"]].append((build(ToolCall, stored, arguments={}), stored))
        return found


def _turn_events(turn: Row, calls: tuple[ToolCall, ...]) -> Iterator[Event]:
    at, request = instant(turn["startedAt"]), build(ModelRequest, turn, body={})
    if turn["compacted"]:
        yield Compacted(at=at, request=request)
    yield TurnRequested(seq=turn["seq"], at=at, request=request, counters=build(GuardCounters, turn))
    if turn["status"] != "requested":
        reply = build(ModelReply, turn, calls=calls, model=turn["replyModel"])
        yield ReplyReceived(seq=turn["seq"], at=instant(turn["at"]), reply=reply, failed=turn["status"] == "failed")


def _call_events(call: ToolCall, stored: Row, within: list[Event], writes: list[FileWrite]) -> Iterator[Event]:
    if stored.get("startedAt"):
        yield build(ToolRequested, stored, at=instant(stored["startedAt"]), call=call)
    yield from within
    if stored.get("finishedAt"):
        result = build(ToolResult, stored, text=stored.get("result") or "", touched=())
        at = instant(stored["finishedAt"])
        yield build(ToolFinished, stored, at=at, call=call, result=result, writes=tuple(writes))


def _within(rows: Mapping[str, list[Row]]) -> dict[int, list[Event]]:
    """Progress reports and decided requests by the call that made them, each in order."""
    found: list[Any] = [build(ProgressReported, row["checkpoint"]) for row in rows["events_checkpoints"]]
    requests = (row["request"] for row in rows["events_requests"])
    found += [build(BudgetDecided if each["kind"] == "calls" else ScopeDecided, each) for each in requests]
    by_call: dict[int, list[Event]] = defaultdict(list)
    for event in sorted(found, key=attrgetter("seq")):
        by_call[event.call_seq].append(event)
    return by_call


def _writes(rows: list[Row]) -> dict[int, list[FileWrite]]:
    by_call: dict[int, list[FileWrite]] = defaultdict(list)
    for row in rows:
        by_call[row["seq"]].append(build(FileWrite, row["write"], path=row["path"]))
    return by_call
