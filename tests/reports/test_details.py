"""A plan, run, task or attempt in full, which trees a diff compares, and a repository's attempts replayed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from orchestrator.domain.attempt import Owner
from orchestrator.domain.errors import UserError
from orchestrator.domain.plan import Plan, PlanningRound
from orchestrator.domain.run import Run
from orchestrator.replay.history import inherited_events, replay_graph
from orchestrator.replay.replay import ReplayLimits, parse_limits
from orchestrator.reports import ask
from orchestrator.reports.conversation import ConversationDetails
from orchestrator.reports.details import (
    CallDetails,
    PlanDetails,
    RunDetails,
    TaskDetails,
    change_shown,
    details_of,
    trees_of,
)
from orchestrator.reports.run_report import run_report
from orchestrator.reports.status import plan_and_run, plan_status
from orchestrator.reports.timeline import Timeline
from orchestrator.store.graph_store import GraphStore
from tests.support.long_story import long_story
from tests.support.samples import (
    T0,
    accepted,
    attempt_owner,
    attempt_summary,
    call,
    claimed,
    new_plan,
    opened,
    reply,
    turn,
    unfinished,
)


@dataclass(frozen=True)
class History:
    """A plan of two tasks: of the first, one attempt was cut off and its successor passed; the second waits."""

    graph: GraphStore
    plan: Plan
    run: Run
    task: str
    cut_off: str
    accepted: str


@pytest.fixture
def history(any_graph: GraphStore) -> History:
    """The history, in a repository of this test's own."""
    plan, run = opened(any_graph, 2)
    first = claimed(any_graph, run)
    for portion in long_story()[:3]:
        any_graph.record(attempt_owner(first), portion)
    (orphan,) = any_graph.orphans(run.id, T0, [first.owner])
    assert any_graph.close_interrupted(orphan, T0)
    second = claimed(any_graph, run)
    any_graph.describe_attempt(second, {"tree_before": "tree1", "follows": first.attempt_id})
    for portion in long_story()[:3]:
        any_graph.record(attempt_owner(second), portion)
    any_graph.await_review(second, "Done.", "tree9", T0)
    assert any_graph.conclude(second, accepted(second))
    return History(any_graph, plan, run, first.task.id, first.attempt_id, second.attempt_id)


def test_every_kind_of_record_is_told_in_full(history: History) -> None:
    """A plan with its rounds, a run and a task with their attempts, an attempt's story, a call; nothing else is
    shown."""
    plan = details_of(history.graph, "Plan", history.plan.id)
    run = details_of(history.graph, "Run", history.run.id)
    task = details_of(history.graph, "Task", history.task)
    attempt = details_of(history.graph, "Attempt", history.accepted)
    assert isinstance(plan, PlanDetails) and plan.rounds == () and len(plan.plan.tasks) == 2
    assert isinstance(run, RunDetails) and isinstance(task, TaskDetails) and isinstance(attempt, Timeline)
    assert [row["attempt"] for row in run.attempts] == [row["attempt"] for row in task.attempts]
    assert (task.state.status, task.diagnosis) == ("completed", {})
    report = run_report(history.graph, history.run.id)
    assert [(len(each.attempts), each.calls) for each in report.tasks] == [(2, task.state.tool_call_count), (0, 0)]
    assert (report.figures.success_rate, report.figures.spirals_per_100, report.figures.onset_ms) == (1.0, 0.0, None)
    assert [(each.task, each.attempts) for each in (*run.used, *task.used)] == [("t0", 1), ("t0", 1)]
    assert (attempt.plan_id, attempt.task_key) == (history.plan.id, "t0")
    one_call = details_of(history.graph, "ToolCall", f"{history.accepted}:2")
    assert isinstance(one_call, CallDetails)
    assert (one_call.tool, one_call.status, one_call.arguments) == ("write_file", "ok", '{"path":"shop/m.py"}')
    with pytest.raises(UserError, match=r"has no call 1; its calls are 2, 3, 4\."):
        details_of(history.graph, "ToolCall", f"{history.accepted}:1")
    with pytest.raises(UserError, match="is a Review"):
        details_of(history.graph, "Review", "v1")


def test_a_plans_rounds_tell_what_was_said_in_them(any_graph: GraphStore) -> None:
    """Each round has its own turns and calls, in order, as an attempt's story has them."""
    plan = new_plan(0)
    any_graph.store_plan(plan)
    for number in (1, 2):
        round_id = f"{plan.id}:round{number}"
        any_graph.store_round(PlanningRound(round_id, plan.id, number))
        said = reply(1, (call(2, "read_file"),), text=f"Round {number}.")
        any_graph.record(Owner("PlanningRound", round_id), [turn(1), said])
    found = details_of(any_graph, "Plan", plan.id)
    assert isinstance(found, PlanDetails)
    told = [(row["number"], [(step.text, len(step.calls)) for step in row["steps"]]) for row in found.rounds]
    assert told == [(1, [("Round 1.", 1)]), (2, [("Round 2.", 1)])]
    alone = details_of(any_graph, *any_graph.resolve(f"{plan.id}:round2", plan.repository.id))
    assert isinstance(alone, ConversationDetails)
    assert (alone.kind, alone.belongs_to, alone.steps) == ("PlanningRound", plan.id, found.rounds[1]["steps"])


def test_what_was_cut_off_counts_on_every_screen(history: History) -> None:
    """Status, run and task tell the same attempts, calls, time and tokens; what a turn without a reply reserved is told
    apart from what was used."""
    graph, rows = history.graph, ask.attempt_figures(history.graph, history.run.id)
    status, run, task = plan_status(graph, history.plan.id), *shown(history)
    state = status.tasks[0]
    assert state == task.state
    assert run.attempts == task.attempts == rows
    assert (state.attempt_number, state.tool_call_count) == (2, sum(row["toolCalls"] for row in rows))
    assert state.duration_ms == sum(row["durationMs"] for row in rows)
    assert status.spend == run.spend == task.spend
    reserved = sum(row["reservedTokens"] for row in rows)
    assert (reserved, status.spend.tokens) == (status.spend.reserved_tokens, reserved + sum(r["tokens"] for r in rows))
    assert reserved > 0
    attempt = details_of(graph, "Attempt", history.cut_off)
    assert isinstance(attempt, Timeline) and attempt.figures == rows[0]


def shown(history: History) -> tuple[RunDetails, TaskDetails]:
    """The run and its first task."""
    run, task = details_of(history.graph, "Run", history.run.id), details_of(history.graph, "Task", history.task)
    assert isinstance(run, RunDetails) and isinstance(task, TaskDetails)
    return run, task


def test_a_diff_compares_what_the_record_began_and_ended_with(history: History) -> None:
    """An attempt's trees, a task's whole change, a run's commits; without a change there is nothing."""
    graph = history.graph
    assert trees_of(graph, "Attempt", history.accepted) == ("tree1", "tree9")
    assert trees_of(graph, "Task", history.task) == ("tree1", "tree9")
    assert trees_of(graph, "Run", history.run.id) == ("c0", "c0")
    with pytest.raises(UserError, match="has no diff yet"):
        trees_of(graph, "Attempt", history.cut_off)
    with pytest.raises(UserError, match="has had no attempt"):
        trees_of(graph, "Task", history.plan.tasks[1].task.id)
    with pytest.raises(UserError, match="has no diff"):
        trees_of(graph, "Plan", history.plan.id)


Trees = list[tuple[str | None, str | None]]
CHANGES: dict[str, tuple[Trees, int]] = {
    "a chain of rejections": ([("t0", "t1"), ("t1", "t1")], 2),
    "stopped, then begun anew in vain": ([("t0", "t1"), ("t0", "t0")], 1),
    "begun anew": ([("t0", "t1"), ("t0", "t2")], 2),
    "carried forward in vain": ([("t0", "t1"), ("t5", "t5")], 1),
    "cut off before it began": ([("t0", "t1"), ("t0", "t0"), (None, None)], 1),
    "never": ([("t0", "t0"), ("t0", "t0")], 2),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_tasks_change_is_that_of_the_last_attempt_which_made_one(kind: str) -> None:
    """Not the increment of its last attempt, which may be nothing after many lines."""
    trees, shown = CHANGES[kind]
    made = [
        attempt_summary(number=number, base_commit="c0", tree_before=before, tree_after=after)
        for number, (before, after) in enumerate(trees, start=1)
    ]
    assert change_shown(made, "t").number == shown


def test_a_plan_stands_as_its_run_left_it(history: History) -> None:
    """The newest run or the one asked for, with what it cost and what is going on; a run's id finds its plan."""
    graph, plan = history.graph, history.plan
    busy = claimed(graph, history.run)
    newest = plan_status(graph, plan.id)
    assert newest.run == replace(history.run, joined=False)
    assert newest == plan_status(graph, plan.id, history.run.id)
    assert [state.status for state in newest.tasks] == ["completed", "running"]
    assert [(now.attempt, now.calls, now.tool) for now in newest.activity] == [(busy.attempt_id, 0, None)]
    assert newest.spend == graph.spend(run_id=history.run.id)
    assert plan_and_run(graph, plan.repository.id, history.run.id) == (plan.id, history.run.id)
    assert graph.conclude(busy, unfinished())


def test_a_repositorys_attempts_are_replayed_under_other_limits(history: History) -> None:
    """Each attempt that ended, with what it inherited from the one that was cut off; or as a trace that goes on."""
    graph, repository = history.graph, history.plan.repository.id
    assert inherited_events(graph, history.cut_off) == ()
    assert inherited_events(graph, history.accepted) == graph.events(history.cut_off)
    own = replay_graph(graph, repository, ReplayLimits())["traces"]
    assert [entry["id"] for entry in own] == [history.cut_off, history.accepted]
    assert all(entry["stop"] is None for entry in own)
    endless = replay_graph(graph, repository, parse_limits("budget = 1"), repeat_last=1)["traces"]
    # the last call of both was cut off and never ran: asked for for ever, it uses up no more than requests
    assert [entry["stop"]["reason"] for entry in endless] == ["request_limit"] * 2
