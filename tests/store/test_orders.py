"""What a person orders: a task tried again, a task or a run cancelled, while others work."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.domain.errors import StaleFenceError
from orchestrator.domain.lifecycle import TransitionError
from orchestrator.domain.task import Retry
from orchestrator.store.graph_store import GraphStore
from tests.support.samples import (
    T0,
    attempt_owner,
    call,
    claimed,
    complete,
    finished,
    new_id,
    new_plan,
    new_run,
    opened,
    reply,
    request,
    statuses,
    turn,
    unfinished,
)

LATER = T0 + timedelta(minutes=10)


def retry_of(task_id: str, **added: Any) -> Retry:
    """A retry, with what is added."""
    key = task_id.rpartition(":")[2]
    return Retry(id=new_id("y"), task_id=task_id, task_key=key, at=LATER, **added)


def test_a_retried_task_is_pending_and_its_run_open_again(any_graph: GraphStore) -> None:
    """A failed task is claimable once more with what was added, what it blocked waits for it, the failed run goes on,
    and no other task is touched; the retry stands in the graph."""
    plan, run = opened(any_graph, 4, lambda index: {2: [0], 3: [2]}.get(index, []))
    for key in ("t0", "t1"):
        any_graph.conclude(claimed(any_graph, run, keys=(key,)), unfinished("failed"))
    any_graph.finish_run(run.id, "failed", T0)
    assert statuses(any_graph, plan) == {"t0": "failed", "t1": "failed", "t2": "blocked", "t3": "blocked"}

    any_graph.retry_task(plan.id, retry_of(f"{plan.id}:t0", note="Use add.", tool_call_budget=30, model="m2"))

    assert statuses(any_graph, plan) == {"t0": "pending", "t1": "failed", "t2": "pending", "t3": "pending"}
    assert any_graph.run(run.id).status == "interrupted"
    joined = any_graph.open_run(new_run(plan, LATER))
    claim = claimed(any_graph, joined)
    assert (joined.id, claim.task.key, claim.number, claim.task.retried_after) == (run.id, "t0", 2, 1)
    assert (claim.task.note, claim.task.tool_call_budget, claim.task.model) == ("Use add.", 30, "m2")
    assert any_graph.claim(request(joined)) is None
    told = any_graph.query(
        "MATCH (t:Task)-[:RETRIED]->(n:Retry) WHERE t.planId = $plan RETURN t.key, n.note, n.toolCallBudget, "
        "n.afterAttempt",
        {"plan": plan.id},
    )
    assert list(told.rows) == [["t0", "Use add.", 30, 1]]


def test_only_what_is_over_may_be_retried(any_graph: GraphStore) -> None:
    """A task that is worked on is not; one that is pending gets what is added, and keeps what it has used."""
    plan, run = opened(any_graph, 2)
    claim = claimed(any_graph, run)
    any_graph.conclude(claim, unfinished())
    any_graph.retry_task(plan.id, retry_of(claim.task.id, note="Smaller steps."))
    again = claimed(any_graph, run)
    with pytest.raises(TransitionError):
        any_graph.retry_task(plan.id, retry_of(claim.task.id))
    assert (again.task.note, again.task.retried_after) == ("Smaller steps.", 0)
    any_graph.await_review(again, "Done.", "tree1", T0)
    complete(any_graph, claimed(any_graph, run))
    assert any_graph.cancel_task(f"{plan.id}:t1", LATER) is False
    assert any_graph.trees_of_task(claim.task.id, "tree") == ()


def test_a_cancelled_task_ends_its_attempt_and_blocks_what_waits(any_graph: GraphStore) -> None:
    """Its live attempt is closed with what it has used, who works on it may write nothing more, the other task goes on,
    and a retry makes it claimable again."""
    plan, run = opened(any_graph, 3, lambda index: [0] if index == 2 else [])
    claim = claimed(any_graph, run)
    any_graph.record(attempt_owner(claim), [turn(1), reply(1, (call(2),)), finished(call(2))])
    assert any_graph.held_attempts("me") >= {claim.attempt_id}

    assert any_graph.cancel_task(claim.task.id, LATER)
    assert any_graph.cancel_task(claim.task.id, LATER), "as after a lost acknowledgement"

    assert statuses(any_graph, plan) == {"t0": "cancelled", "t1": "pending", "t2": "blocked"}
    assert claim.attempt_id not in any_graph.held_attempts("me")
    ended = any_graph.attempt(claim.attempt_id)
    assert (ended.status, ended.stop_reason, ended.finished_at, ended.usage.turn_count) == (
        "cancelled",
        "cancelled",
        LATER,
        1,
    )
    told = any_graph.query("MATCH (a:Attempt {id: $id}) RETURN a.errorContextJson", {"id": claim.attempt_id}).rows
    assert json.loads(told[0][0])["next"] == [f"orchestrate retry {claim.task.id}"]
    with pytest.raises(StaleFenceError):
        any_graph.conclude(claim, unfinished())
    any_graph.retry_task(plan.id, retry_of(claim.task.id))
    assert claimed(any_graph, run).task.key == "t0"
    assert statuses(any_graph, plan)["t2"] == "pending"


def test_a_cancelled_run_hands_out_no_work(any_graph: GraphStore) -> None:
    """Its live attempts and what has not ended are cancelled; what is completed stays, and a new run does the rest."""
    plan, run = opened(any_graph, 4, lambda index: [2] if index == 3 else [])
    complete(any_graph, claimed(any_graph, run))
    live = claimed(any_graph, run)

    for _ in range(2):  # repeated after a lost acknowledgement
        any_graph.cancel_run(run, LATER)

    assert any_graph.run(run.id).status == "cancelled"
    assert any_graph.attempt(live.attempt_id).status == "cancelled"
    assert statuses(any_graph, plan) == {"t0": "completed", **dict.fromkeys(("t1", "t2", "t3"), "cancelled")}
    assert any_graph.claim(request(run)) is None
    again = any_graph.open_run(new_run(plan, LATER))
    assert statuses(any_graph, plan) == {"t0": "completed", **dict.fromkeys(("t1", "t2", "t3"), "pending")}
    any_graph.finish_run(again.id, "completed", LATER)
    with pytest.raises(TransitionError):
        any_graph.cancel_run(again, LATER)


def test_a_run_about_some_tasks_touches_no_other(any_graph: GraphStore) -> None:
    """Those that failed before keep their reason; joined by somebody who names none it is about the whole plan."""
    plan, run = opened(any_graph, 3)
    for key in ("t0", "t1"):
        any_graph.conclude(claimed(any_graph, run, keys=(key,)), unfinished("failed"))
    any_graph.finish_run(run.id, "failed", T0)

    part = any_graph.open_run(replace(new_run(plan, LATER), keys=("t0",)))

    assert statuses(any_graph, plan) == {"t0": "pending", "t1": "failed", "t2": "pending"}
    assert any_graph.tasks(plan.id)[1].stop_reason == "attempts_exhausted"
    assert any_graph.run(part.id).keys == ("t0",)
    any_graph.retry_task(plan.id, retry_of(f"{plan.id}:t1"))
    assert any_graph.run(part.id).keys == ("t0", "t1")
    assert any_graph.open_run(replace(new_run(plan, LATER), keys=("t2",))).keys == ("t0", "t1", "t2")
    assert any_graph.open_run(new_run(plan, LATER)).keys == ()


def test_a_fresh_run_about_some_tasks_starts_all_over(any_graph: GraphStore) -> None:
    """It begins at the plan's base, where no task is completed."""
    plan, run = opened(any_graph, 2)
    complete(any_graph, claimed(any_graph, run))
    any_graph.open_run(replace(new_run(plan, LATER), keys=("t1",)), fresh=True)
    assert statuses(any_graph, plan) == {"t0": "pending", "t1": "pending"}


def test_what_is_left_out_of_a_new_run_stays_as_it_is(any_graph: GraphStore) -> None:
    """It keeps its status and reason, and what waits for it stays blocked."""
    plan = new_plan(3, lambda index: [0] if index == 1 else [])
    any_graph.store_plan(plan)
    run = any_graph.open_run(new_run(plan))
    any_graph.conclude(claimed(any_graph, run), unfinished("failed"))
    any_graph.finish_run(run.id, "failed", T0)

    any_graph.open_run(new_run(plan, LATER), leave=("t0",))

    assert statuses(any_graph, plan) == {"t0": "failed", "t1": "blocked", "t2": "pending"}
    assert any_graph.tasks(plan.id)[0].stop_reason == "attempts_exhausted"
