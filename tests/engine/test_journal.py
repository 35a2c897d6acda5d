"""The journal: recorded, judged, made durable, and only then told."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.domain.attempt import Owner
from orchestrator.domain.errors import GraphError
from orchestrator.domain.events import Event, Finished, GuardFired, ReplyReceived, ToolFinished, ToolRequested
from orchestrator.domain.model_io import ModelReply, ToolResult
from orchestrator.domain.progress import CallFinished, CallStarted, GuardSpoke, Progress, TurnStarted
from orchestrator.engine.loop.journal import Journal, Subscriber
from orchestrator.engine.loop.progress import LOGGER, ProgressFeed, TurnLog
from orchestrator.guards.guard_set import GuardSet
from orchestrator.guards.limits import GuardLimits
from tests.support.samples import call, turn

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWNER = Owner("Attempt", "a1", "a1", 1)


class Graph:
    """A recorder in memory that can be away."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.away = False

    def record(self, _owner: Owner, events: Sequence[Event]) -> None:
        """Keep them, if it is there."""
        if self.away:
            raise GraphError("Away.")
        self.events += events


def journal(graph: Graph, *subscribers: Subscriber, budget: int = 9, limits: GuardLimits | None = None) -> Journal:
    """A worker's journal that may write everywhere."""
    return Journal(graph, OWNER, GuardSet.begin(limits or GuardLimits(), budget, ("**",)), subscribers)


def reply(*calls: Any) -> ReplyReceived:
    """The answer to turn 1."""
    answer = ModelReply(text="", calls=calls, prompt_tokens=30, completion_tokens=5, finish_reason="stop", model="m")
    return ReplyReceived(seq=1, at=NOW, reply=answer)


def finished(asked: Any, text: str = "fine") -> ToolFinished:
    """A call that went well."""
    return ToolFinished(at=NOW, call=asked, status="ok", result=ToolResult(text=text, outcome_hash=text))


def test_nobody_hears_of_what_is_not_durable() -> None:
    """A graph that is away keeps subscribers silent; what it then takes is told once, in order."""
    graph, told = Graph(), list[Event]()
    kept = journal(graph, lambda _journal, events: told.extend(events))
    kept.append(turn(1))
    assert told == []
    graph.away = True
    with pytest.raises(GraphError):
        kept.flush()
    assert told == []
    graph.away = False
    kept.flush()
    kept.flush()
    assert told == graph.events == [turn(1)]


def test_a_write_that_declines_leaves_everything_to_be_flushed() -> None:
    """What the ledger's bound forbade is neither written nor told; the next flush has it."""
    graph, told = Graph(), list[Event]()
    kept = journal(graph, lambda _journal, events: told.extend(events))
    kept.append(turn(1))
    kept.flush_if(lambda _owner, _events: False)
    assert told == []
    kept.flush()
    assert told == [turn(1)]


def test_a_verdict_is_recorded_behind_what_it_is_about_and_a_stop_once() -> None:
    """The second refused call finds the guards stopped: nothing more is recorded of them, and the Stop stands."""
    graph = Graph()
    kept = journal(graph, limits=GuardLimits(max_tokens=10))
    kept.append(turn(1, reserved_tokens=900))
    kept.append(turn(2, reserved_tokens=900))
    kept.flush()
    fired = [event for event in graph.events if isinstance(event, GuardFired)]
    assert [event.verdict.code for event in fired] == ["token_limit"]
    assert kept.stop is fired[0].verdict
    assert graph.events.index(fired[0]) == 1


def test_the_screen_shows_what_was_recorded_and_what_it_used() -> None:
    """A turn, its executed call with the tokens so far, a guard's warning; a refused call never seems to start."""
    shown: list[Progress] = []
    kept = journal(Graph(), ProgressFeed(shown.append, "median", 2), budget=1)
    asked, refused = call(2, "read_file", mutating=False, pure=True), call(3, "search", mutating=False, pure=True)
    kept.append(turn(1))
    kept.flush()
    kept.append(reply(asked, refused))
    kept.append(ToolRequested(at=NOW, turn_seq=1, call=asked))
    kept.flush()
    kept.append(finished(asked))
    kept.append(ToolRequested(at=NOW, turn_seq=1, call=refused))
    kept.append(ToolFinished(at=NOW, call=refused, status="refused", result=ToolResult.said("No.")))
    kept.flush()
    assert [type(each) for each in shown if not isinstance(each, GuardSpoke)] == [
        TurnStarted,
        CallStarted,
        CallFinished,
        CallFinished,
    ]
    done = next(each for each in shown if isinstance(each, CallFinished))
    assert (done.task, done.attempt, done.tool, done.calls_used, done.budget) == ("median", 2, "read_file", 1, 1)
    assert (done.tokens, done.status) == (35, "ok")
    assert {each.verdict.guard for each in shown if isinstance(each, GuardSpoke)} == {"budget"}


def test_a_turn_is_told_by_its_number() -> None:
    """Not by its place among everything that happened: the turn behind a turn with a call is the second, and one that
    is asked for again behind a request that failed is no other."""
    shown: list[Progress] = []
    kept = journal(Graph(), ProgressFeed(shown.append, "median", 2))
    asked = call(2, "read_file", mutating=False, pure=True)
    kept.append(turn(1))
    kept.flush()
    for event in (reply(asked), ToolRequested(at=NOW, turn_seq=1, call=asked), finished(asked), turn(3)):
        kept.append(event)
    kept.flush()
    for event in (ReplyReceived.without_reply(turn(3), "it failed", NOW), turn(4)):
        kept.append(event)
    kept.flush()
    told = [(each.turn, each.turns) for each in shown if isinstance(each, TurnStarted)]
    assert told == [(1, 19), (2, 19), (2, 19)]


def test_each_turn_has_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Written when the next turn begins or all is over: what was asked, what became of each call, and why."""
    kept = journal(Graph(), TurnLog("median"))
    asked, broken, left = call(2), call(3, "nonsense", defect="There is no tool nonsense."), call(4)
    with caplog.at_level(logging.INFO, LOGGER):
        for event in (turn(1), reply(asked, broken, left), ToolRequested(at=NOW, turn_seq=1, call=asked)):
            kept.append(event)
        kept.append(finished(asked))
        kept.append(ToolRequested(at=NOW, turn_seq=1, call=broken))
        kept.append(ToolFinished(at=NOW, call=broken, status="error", result=ToolResult.said("No.", "malformed")))
        kept.append(Finished(at=NOW, reason="interrupted"))
        kept.flush()
    (line,) = [json.loads(record.getMessage()) for record in caplog.records if record.name == LOGGER]
    assert (line["task"], line["turn"], line["status"], line["callsUsed"]) == ("median", 1, "replied", 1)
    assert [each["verdict"] for each in line["calls"]] == ["unique", "malformed", "skipped"]
    assert line["calls"][1]["why"] == "There is no tool nonsense."
