"""Stories and states, told from the graph."""

from __future__ import annotations

from typing import Any

from orchestrator.reports.ask import ask_graph
from orchestrator.reports.timeline import TimelineNote, TimelineTurn, newest_failure, tell
from tests.reports.conftest import World


def _node(label: str, answers: int | None = None, **properties: Any) -> dict[str, Any]:
    return {"node": {"labels": [label], "properties": properties}, "answers": answers}


def _turn(seq: int) -> dict[str, Any]:
    return _node("Turn", seq=seq, status="replied", windowMessages=3, windowTokens=70)


def _call(
    seq: int, turn: int, signature: str, status: str = "ok", tool: str = "read_file", **more: Any
) -> dict[str, Any]:
    more = {"executed": status == "ok" and tool == "read_file"} | more
    return _node("ToolCall", seq=seq, turnSeq=turn, tool=tool, signature=signature, status=status, **more)


def test_story_is_in_order_with_its_diagnostics(world: World) -> None:
    """Each turn tells calls used against the limit, window, stall count, and each call's uniqueness and why."""
    steps = tell(ask_graph(world.graph, "attempt_facts", attempt=world.id("a3")), 20)
    assert [step.seq for step in steps] == [1, 3, 4, 6, 8]
    turns = [step for step in steps if isinstance(step, TimelineTurn)]
    assert [(t.number, t.calls_used, t.calls_limit, t.stall_count) for t in turns] == [
        (1, 1, 20, 1),
        (2, 2, 20, 1),
        (3, 2, 20, 2),
    ]
    assert (turns[0].window_messages, turns[0].window_tokens) == (2, 50)
    assert [(t.finish_reason, t.reasoning_tokens) for t in turns] == [("tool_calls", 0), ("length", 1), ("", 0)]
    assert [(c.uniqueness, c.why) for c in turns[2].calls] == [("duplicate", "same as call 5")]
    stop = steps[-1]
    assert isinstance(stop, TimelineNote)
    assert (stop.kind, stop.verdict, stop.observed, stop.limit) == ("guard", "stop", 5.0, 5.0)


def test_stall_count_sees_batches_whatever_their_order() -> None:
    """Order within a batch does not matter; a turn without a call starts anew."""
    rows = [
        _turn(1), _call(2, 1, "a"), _call(3, 1, "b"),
        _turn(4), _call(5, 4, "b"), _call(6, 4, "a"),
        _turn(7),
        _turn(8), _call(9, 8, "a"), _call(10, 8, "b"),
    ]  # fmt: skip
    assert [step.stall_count for step in tell(rows, 9) if isinstance(step, TimelineTurn)] == [1, 2, 0, 1]


def test_control_tools_and_refusals_use_no_budget() -> None:
    """Executed calls alone count; a grant raises the limit from there on; a refusal says why."""
    rows = [
        _turn(1),
        _call(2, 1, "a", tool="request_budget"),
        _node("BudgetRequest", seq=3, kind="calls", additional=5, granted=True, grantedCalls=5, justification="tests"),
        _turn(4), _call(5, 4, "b"), _call(6, 4, "c", status="refused", result="out of scope"),
    ]  # fmt: skip
    first, note, second = tell(rows, 10)
    assert isinstance(first, TimelineTurn)
    assert isinstance(second, TimelineTurn)
    assert isinstance(note, TimelineNote)
    assert (first.calls_used, first.calls_limit, first.calls[0].uniqueness) == (0, 10, "control")
    assert (note.kind, note.verdict) == ("request", "granted")
    assert (second.calls_used, second.calls_limit) == (1, 15)
    assert (second.calls[1].uniqueness, second.calls[1].why) == ("refused", "out of scope")


def test_malformed_calls_use_no_budget() -> None:
    """What did not parse or validate was not executed: it is told as refused, with why."""
    (turn,) = tell([_turn(1), _call(2, 1, "b", "error", errorKind="malformed", result="no JSON object")], 10)
    assert isinstance(turn, TimelineTurn)
    assert (turn.calls_used, turn.calls[0].uniqueness, turn.calls[0].why) == (0, "refused", "no JSON object")


def test_newest_failure_prefers_failed_tasks(world: World) -> None:
    """`show` without an id tells of the failed task's attempt, not of one that was mended since."""
    assert newest_failure(world.graph, world.id("r")) == world.id("a3")
    assert newest_failure(world.graph, "nothing") is None
