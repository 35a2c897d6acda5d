"""Replaying a repository's own attempts under other limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from orchestrator.domain.events import Event, ReplyReceived, ToolFinished
from orchestrator.domain.graph_ports import GraphReader
from orchestrator.domain.model_io import ToolCall
from orchestrator.gates.retry import resumes
from orchestrator.replay.replay import Replay, ReplayLimits, replay_attempt, replay_trace, shape
from orchestrator.replay.traces import Trace, TraceCall
from orchestrator.reports.ask import ask_graph


def replay_graph(
    reader: GraphReader, repository_id: str, limits: ReplayLimits, *, repeat_last: int = 0
) -> dict[str, Any]:
    """Every attempt of the repository that has ended, in the shape of `calibrate --replay --json`. With `repeat_last` K
    an attempt is taken as a trace and its last K calls go on for ever."""
    replays = []
    for row in ask_graph(reader, "ended_attempts", repository=repository_id):
        events = reader.events(row["attempt"])
        replays.append(shape(row["attempt"], _replay(reader, row, events, limits, repeat_last)))
    return {"traces": replays}


def inherited_events(reader: GraphReader, attempt_id: str) -> tuple[Event, ...]:
    """The events of the attempts that were cut off and that this one continues, oldest first."""
    follows = reader.attempt(attempt_id).follows
    if follows is None or not resumes(reader.attempt(follows)):
        return ()
    return (*inherited_events(reader, follows), *reader.events(follows))


def _replay(
    reader: GraphReader, row: dict[str, Any], events: Sequence[Event], limits: ReplayLimits, repeat_last: int
) -> Replay:
    if repeat_last:
        return replay_trace(trace_of(row["attempt"], events), limits, repeat_last=repeat_last)
    inherited = inherited_events(reader, row["attempt"])
    return replay_attempt(events, limits.limits, limits.budget or row["budget"], tuple(row["allowedPaths"]), inherited)


def trace_of(attempt_id: str, events: Sequence[Event]) -> Trace:
    """A recorded attempt as a trace: every call that was asked for. What a command wrote is not in it."""
    finished = {event.seq: event for event in events if isinstance(event, ToolFinished)}
    replies = (event for event in events if isinstance(event, ReplyReceived))
    asked = ((call, finished.get(call.seq), reply.seq) for reply in replies for call in reply.reply.calls)
    return Trace(id=attempt_id, calls=tuple(_trace_call(*each) for each in asked))


def _trace_call(call: ToolCall, event: ToolFinished | None, turn: int) -> TraceCall:
    try:
        arguments = json.loads(call.arguments_json)
    except (ValueError, RecursionError):
        arguments = {}
    told = TraceCall(name=call.tool, arguments=arguments if isinstance(arguments, dict) else {}, turn=turn)
    if event is None:
        return told.model_copy(update={"ok": False, "refused": True})
    return told.model_copy(
        update={
            "ok": event.status in ("ok", "duplicate"),
            "refused": event.status == "refused",
            "result_sha": event.result.outcome_hash,
            "result_chars": len(event.result.text),
            "error_sha": event.result.error_hash,
            "shape_sha": event.result.shape_hash,
            "says": event.result.says,
            "added": sum(write.added for write in event.writes),
            "removed": sum(write.removed for write in event.writes),
            "rewritten": sum(write.rewritten for write in event.writes),
        }
    )
