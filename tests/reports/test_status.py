"""How a plan stands: what is going on now, and which plan an id belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.errors import UserError
from orchestrator.domain.task import TaskState
from orchestrator.reports.ask import ask_graph, attempt_figures
from orchestrator.reports.details import newest_subject
from orchestrator.reports.saved_queries import saved_query
from orchestrator.reports.status import plan_and_run, with_all_attempts
from orchestrator.reports.timeline import TimelineTurn, tell
from orchestrator.store.graph_store import GraphStore
from tests.reports.conftest import World
from tests.support.samples import T0, accepted, claimed, new_task, opened, unfinished

LATEST: dict[str, Any] = {"attempt_number": 7, "stop_reason": None, "assessment": None, "tool_call_count": 1}


def rows_of(world: World, name: str) -> list[dict[str, Any]]:
    """A saved query's answer about the repository."""
    saved = saved_query(name)
    table = world.graph.query(saved.cypher, saved.bind({"repository": world.id("r")}))
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_what_is_running_counts_executed_calls_alone(world: World) -> None:
    """`status`, the saved query and the story tell the same number: no duplicate, refused call or control tool is in
    it; the last call is the last that was asked for."""
    (row,) = ask_graph(world.graph, "running_calls", plan=world.id("p"))
    assert (row["calls"], row["budget"], row["tool"]) == (2, 25, "search")
    (saved,) = rows_of(world, "running-now")
    assert (saved["toolCalls"], saved["budget"]) == (row["calls"], row["budget"])
    *_, turn = tell(ask_graph(world.graph, "attempt_facts", attempt=world.id("a4")), 20)
    assert isinstance(turn, TimelineTurn)
    assert (turn.calls_used, turn.calls_limit, turn.number) == (row["calls"], row["budget"], 2)


def test_every_screen_counts_alike(world: World) -> None:
    """Of each task the executed calls, the time and the tokens of all its attempts, those of open ones so far among
    them; what a request without a reply has reserved stands apart. `status` and `show` draw on the figures, the saved
    queries say the same."""
    figures = attempt_figures(world.graph, world.id("p"))
    tasks = {row["task"]: row for row in rows_of(world, "most-expensive")}
    for key, row in tasks.items():
        mine = [figure for figure in figures if figure["task"] == key]
        state = with_all_attempts(TaskState(task=new_task("p", 0, ()), status="running", **LATEST), mine)
        assert (state.attempt_number, state.tool_call_count) == (row["attempts"], row["toolCalls"])
        assert state.duration_ms == row["durationMs"]
        assert sum(figure["tokens"] for figure in mine) == row["tokens"]
        assert sum(figure["reservedTokens"] for figure in mine) == row["reservedTokens"]
    assert {key: (row["toolCalls"], row["durationMs"]) for key, row in tasks.items()} == {
        "alpha": (9, 200.0),
        "beta": (101, 10.0),
        "delta": (2, 1000.0),
    }
    assert [(row["costUsd"], row["reservedUsd"]) for row in figures] == [(0.015, 0), (0.02, 0), (None, 0), (None, 0.5)]
    (kpis,) = rows_of(world, "kpis")
    assert (kpis["medianCalls"], kpis["mostCalls"]) == (9, 101)
    open_ = attempt_figures(world.graph, world.id("a4"))
    assert open_ == attempt_figures(world.graph, world.id("run")) == attempt_figures(world.graph, world.id("t4"))


def test_without_an_id_the_newest_run_is_told_or_its_failure(any_graph: GraphStore) -> None:
    """Nothing, then the plan, then its run, a failed attempt of it, and the run again once it has completed."""
    plan, run = opened(any_graph, 1)
    repository = plan.repository.id
    assert newest_subject(any_graph, "nothing") is None
    assert newest_subject(any_graph, repository) == ("Run", run.id)
    first = claimed(any_graph, run)
    assert any_graph.conclude(first, unfinished())
    assert newest_subject(any_graph, repository) == ("Attempt", first.attempt_id)
    second = claimed(any_graph, run)
    any_graph.await_review(second, "Done.", "tree9", T0)
    assert any_graph.conclude(second, accepted(second))
    any_graph.finish_run(run.id, "completed", T0)
    assert newest_subject(any_graph, repository) == ("Run", run.id)


def test_the_plan_of_any_id_is_found(world: World) -> None:
    """A plan, task or attempt names its plan; nothing named is the newest plan of the repository."""
    repository, plan = world.id("r"), world.id("p")
    for wanted in (None, plan, world.id("t1"), world.id("a3"), "beta"):
        assert plan_and_run(world.graph, repository, wanted) == (plan, None)


def test_what_belongs_to_no_plan_is_the_users_error(world: World) -> None:
    """A repository without a plan, and an id of something else, say the way out."""
    with pytest.raises(UserError, match=r"no plan yet.*orchestrate plan"):
        plan_and_run(world.graph, "nothing", None)
    with pytest.raises(UserError, match="Nothing here has the id"):
        plan_and_run(world.graph, world.id("r"), "no-such-thing")
