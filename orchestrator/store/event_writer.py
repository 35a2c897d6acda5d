"""The hot path: an owner's events become nodes, in one transaction of few statements, and nothing shared is touched."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from orchestrator.domain.attempt import Owner
from orchestrator.domain.errors import GraphError
from orchestrator.domain.events import (
    BudgetDecided,
    Event,
    FileWrite,
    Finished,
    GuardFired,
    ProgressReported,
    ReplyReceived,
    Resumed,
    ScopeDecided,
    ToolFinished,
    ToolRequested,
    TurnRequested,
)
from orchestrator.domain.model_io import ToolCall
from orchestrator.domain.tools import executed, executes
from orchestrator.domain.usage import AttemptUsage
from orchestrator.store.connection import Row, Transaction
from orchestrator.store.mapping import file_name, instant, iso, properties
from orchestrator.store.records import LIVE, Records, fence, summed_usage

RowBatch = dict[str, list[Row]]
"""Rows by the statement that writes them."""

STEP = ("requested", "settled", "started", "finished")
"""What the one statement of the hot path writes."""

REST = ("calls_duplicate", "checkpoints_store", "requests_store", "guards_store")
"""The statements of what happens more seldom, in the order in which their nodes need each other."""


class EventWriter(Records):
    """Recording events."""

    def record(self, owner: Owner, events: Sequence[Event]) -> None:
        """Write an owner's facts, in order, in one transaction. Compacted needs no node: it is the `compacted` of the
        turn that follows. Raises StaleFenceError for a fence that is not current."""
        if events:
            self._connection.write(self._writing(owner, events))

    def reserve(
        self,
        owner: Owner,
        events: Sequence[Event],
        *,
        run_id: str,
        worker: str,
        known: Collection[str],
        fits: Callable[[Sequence[AttemptUsage]], bool],
    ) -> bool:
        """The same, if the run bears it: lock the run, look at what attempts of other workers than `worker` have used
        in it, those left out that are closed and `known`, and record the events if that `fits`: one transaction, so
        that no other process reserves in between. `fits` may be asked again. Raises StaleFenceError."""
        write = self._writing(owner, events)
        look = {"runId": run_id, "worker": worker, "known": list(known)}

        def work(tx: Transaction) -> bool:
            if not fits([_use(row) for row in tx.run("ledger_look", by=uuid.uuid4().hex, **look)]):
                return False
            write(tx)
            return True

        return self._connection.write(work)

    def _writing(self, owner: Owner, events: Sequence[Event]) -> Callable[[Transaction], None]:
        batch = self._batch(owner.id, events)
        on_attempt = _on_attempt(events) if owner.label == "Attempt" else {}
        attempt_id = owner.id if owner.label == "Attempt" else owner.attempt_id

        def work(tx: Transaction) -> None:
            _step(tx, owner, attempt_id, events, batch)
            for name in REST:
                if name in batch:
                    tx.run(name, rows=batch[name], ownerId=owner.id, attemptId=attempt_id)
            if on_attempt:
                tx.run("attempt_events", attemptId=attempt_id, **on_attempt)

        return work

    def _batch(self, owner_id: str, events: Sequence[Event]) -> RowBatch:
        batch: RowBatch = defaultdict(list)
        for event in events:
            for name, row in self._event_rows(owner_id, event):
                batch[name].append(row)
        _start_with_reply(batch)
        return batch

    def _event_rows(self, owner_id: str, event: Event) -> Iterable[tuple[str, Row]]:
        match event:
            case TurnRequested():
                yield "requested", self._turn_row(owner_id, event)
            case ReplyReceived():
                yield "settled", self._reply_row(owner_id, event)
            case ToolRequested():
                yield from _start_rows(owner_id, event)
            case ToolFinished():
                row = self._finish_row(owner_id, event)
                yield "finished", row | {"executed": executed(event.call, event.status)}
            case ProgressReported():
                yield "checkpoints_store", self._fact_row(owner_id, event, f"Progress at {event.at_tool_call}")
            case BudgetDecided():
                yield "requests_store", self._fact_row(owner_id, event, f"{event.additional} calls", kind="calls")
            case ScopeDecided():
                yield "requests_store", self._fact_row(owner_id, event, ", ".join(event.paths)[:60], kind="scope")
            case GuardFired():
                yield "guards_store", self._guard_row(owner_id, event)

    def _fact_row(self, owner_id: str, event: Any, name: str, **more: Any) -> Row:
        return self._row(event, id=_id(owner_id, event.seq), name=name, **more)

    def _turn_row(self, owner_id: str, event: TurnRequested) -> Row:
        row = self._row(event.request, without=("body",), id=_id(owner_id, event.seq), name=f"Turn {event.seq}")
        counters = properties(event.counters)
        return row | counters | {"seq": event.seq, "status": "requested", "startedAt": iso(event.at)}

    def _reply_row(self, owner_id: str, event: ReplyReceived) -> Row:
        reply = event.reply
        turn = self._row(reply, without=("calls", "model", "message"), at=iso(event.at), replyModel=reply.model)
        turn |= {"status": "failed" if event.failed else "replied", "toolCallCount": len(reply.calls)}
        calls = [self._call_row(owner_id, event.seq, call) for call in reply.calls]
        return {"id": _id(owner_id, event.seq), "turn": turn, "calls": calls}

    def _call_row(self, owner_id: str, turn_seq: int, call: ToolCall) -> Row:
        more: Row = {"name": call.tool, "turnSeq": turn_seq, "status": "requested"}
        return self._row(call, without=("arguments",), id=_id(owner_id, call.seq), **more)

    def _finish_row(self, owner_id: str, event: ToolFinished) -> Row:
        result = properties(event.result, without=("text", "touched"))
        text = event.result.text
        more: Row = {"status": event.status, "treeAfter": event.tree_after, "result": text, "resultChars": len(text)}
        more["filesChanged"] = event.files_changed
        call = self._stored(result | more)
        writes = [self._write_row(write, position) for position, write in enumerate(event.writes)]
        return {"id": _id(owner_id, event.seq), "call": call | {"finishedAt": iso(event.at)}, "writes": writes}

    def _guard_row(self, owner_id: str, event: GuardFired) -> Row:
        verdict, id_ = event.verdict, _id(owner_id, event.seq)
        fired = self._row(event, without=("verdict",), id=id_, name=f"{verdict.guard}: {verdict.kind}")
        said = self._row(verdict, without=("message",), verdict=verdict.kind, reason=verdict.message)
        call = None if event.call_seq is None else _id(owner_id, event.call_seq)
        return {"id": id_, "guard": fired | said, "call": call}

    def _write_row(self, write: FileWrite, position: int) -> Row:
        relation = self._row(write, without=("path",), position=position)
        path = self._texts.clean(write.path)
        return {"path": path, "name": file_name(path), "write": relation}


def _use(row: Row) -> AttemptUsage:
    span_s = (instant(row["ended"]) - instant(row["begun"])).total_seconds()
    return AttemptUsage(
        attempt_id=row["attemptId"],
        task_id=row["taskId"],
        closed=row["closed"],
        usage=summed_usage(row),
        worked_s=max(span_s - float(row["waitMs"]) / 1000, 0.0),
    )


def _id(owner_id: str, seq: int) -> str:
    return f"{owner_id}:{seq}"


def _start_rows(owner_id: str, event: ToolRequested) -> Iterable[tuple[str, Row]]:
    start = {"id": _id(owner_id, event.seq), "startedAt": iso(event.at), "duplicateOf": event.duplicate_of}
    yield "started", start | {"executed": executes(event.call, event.duplicate_of)}
    if event.duplicate_of is not None:
        yield "calls_duplicate", {"id": start["id"], "of": _id(owner_id, event.duplicate_of)}


def _start_with_reply(batch: RowBatch) -> None:
    """Let a call that starts in the transaction of its reply be created as running: one write less a step."""
    created = {call["id"]: call for row in batch.get("settled", ()) for call in row["calls"]}
    later = []
    for start in batch.pop("started", ()):
        if start["id"] in created:
            created[start["id"]].update(start, status="running")
        else:
            later.append(start)
    if later:
        batch["started"] = later


def _on_attempt(events: Sequence[Event]) -> Row:
    """Resumed and Finished stand on the attempt itself."""
    values: Row = {}
    for event in events:
        if isinstance(event, Resumed):
            values |= {"resumedAt": iso(event.at), "resumedFrom": iso(event.last_event_at)}
        if isinstance(event, Finished):
            values |= {"endedAt": iso(event.at), "endReason": event.reason}
    missing = dict.fromkeys(("resumedAt", "resumedFrom", "endedAt", "endReason"))
    return missing | values if values else {}


def _step(tx: Transaction, owner: Owner, attempt_id: str | None, events: Sequence[Event], batch: RowBatch) -> None:
    """Lock and fence the owner and write what is hot. Raises StaleFenceError, with nothing written."""
    rows = {name: batch.get(name, []) for name in STEP}
    at = iso(events[-1].at)
    if attempt_id is None:
        step = "review_step" if owner.label == "Review" else "round_step"
        if not tx.run(step, ownerId=owner.id, at=at, **rows):
            raise GraphError(f"{owner.label} {owner.id} is not in the graph.")
    elif not tx.run(
        "attempt_step", ownerId=owner.id, attemptId=attempt_id, fence=owner.fence, live=LIVE, at=at, **rows
    ):
        fence(tx, attempt_id, owner.fence)  # says why
