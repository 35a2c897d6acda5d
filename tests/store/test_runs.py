"""Opening, joining, resetting and closing runs."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from orchestrator.domain.errors import StaleFenceError, UserError
from orchestrator.domain.lifecycle import TransitionError
from orchestrator.store.graph_store import GraphStore
from tests.support.samples import (
    T0,
    attempt_owner,
    claimed,
    complete,
    new_id,
    new_plan,
    new_run,
    opened,
    request,
    statuses,
    turn,
    unfinished,
)

LATER = T0 + timedelta(minutes=10)


def test_a_run_comes_back_as_written(any_graph: GraphStore) -> None:
    """Every field of a run is in the graph."""
    plan = new_plan(1)
    any_graph.store_plan(plan)
    run = new_run(plan)
    assert any_graph.open_run(run) == run
    assert any_graph.run(run.id) == run
    assert any_graph.newest_run(plan.id) == run


def test_an_open_run_is_joined(any_graph: GraphStore) -> None:
    """At most one open run a plan: a second process joins it, and repeating one's own opening is no join."""
    plan, run = opened(any_graph, 2)
    claim = claimed(any_graph, run)
    joined = any_graph.open_run(new_run(plan))
    assert (joined.id, joined.joined) == (run.id, True)
    assert any_graph.open_run(run).joined is False
    assert statuses(any_graph, plan) == {"t0": "running", "t1": "pending"}
    any_graph.record(attempt_owner(claim), [turn(1)])


def test_many_processes_open_one_run(any_graph: GraphStore) -> None:
    """The plan is locked first, so that two openings cannot both find none."""
    plan = new_plan(3)
    any_graph.store_plan(plan)
    with ThreadPoolExecutor(6) as pool:
        runs = list(pool.map(lambda _: any_graph.open_run(new_run(plan)), range(6)))
    assert len({run.id for run in runs}) == 1
    assert [run.joined for run in runs].count(False) == 1


def test_an_interrupted_run_goes_on(any_graph: GraphStore) -> None:
    """Ctrl-C leaves a run that can be resumed: joining it sets it to running again."""
    plan, run = opened(any_graph, 1)
    any_graph.finish_run(run.id, "interrupted", T0)
    assert any_graph.run(run.id).status == "interrupted"
    joined = any_graph.open_run(new_run(plan))
    assert (joined.id, joined.status, joined.finished_at) == (run.id, "running", None)
    assert any_graph.run(run.id).status == "running"


def test_a_new_run_sets_what_is_not_completed_to_pending(any_graph: GraphStore) -> None:
    """Completed tasks stay completed; failed and blocked ones are tried again, and readiness is computed anew."""
    plan, run = opened(any_graph, 4, lambda index: {2: [0], 3: [1]}.get(index, []))
    complete(any_graph, claimed(any_graph, run, keys=("t0",)))
    any_graph.conclude(claimed(any_graph, run, keys=("t1",)), unfinished("failed"))
    any_graph.finish_run(run.id, "failed", T0)
    again = any_graph.open_run(new_run(plan, LATER))
    assert (again.id != run.id, again.joined) == (True, False)
    assert statuses(any_graph, plan) == {"t0": "completed", "t1": "pending", "t2": "pending", "t3": "pending"}
    assert [claimed(any_graph, again).task.key for _ in range(2)] == ["t1", "t2"]
    assert any_graph.claim(request(again)) is None
    assert any_graph.newest_run(plan.id) == again


def test_attempts_of_an_earlier_run_are_not_followed(any_graph: GraphStore) -> None:
    """Numbers go on, but a new run's first attempt follows none."""
    plan, run = opened(any_graph, 1)
    any_graph.conclude(claimed(any_graph, run), unfinished("failed"))
    any_graph.finish_run(run.id, "failed", T0)
    again = any_graph.open_run(new_run(plan, LATER))
    claim = claimed(any_graph, again)
    assert (claim.number, any_graph.attempt(claim.attempt_id).follows) == (2, None)


def test_fresh_cancels_the_open_run_and_starts_all_over(any_graph: GraphStore) -> None:
    """`--fresh`: the open run is cancelled, live attempts with it, and every task is pending again."""
    plan, run = opened(any_graph, 3, lambda index: [0] if index == 1 else [])
    complete(any_graph, claimed(any_graph, run))
    live = claimed(any_graph, run)
    fresh = any_graph.open_run(new_run(plan, LATER), fresh=True)
    assert any_graph.run(run.id).status == "cancelled"
    ended = any_graph.attempt(live.attempt_id)
    assert (ended.status, ended.stop_reason) == ("cancelled", "cancelled")
    assert ended.stop_detail == f"Run {fresh.id} has begun the plan anew."
    (told,) = any_graph.query(
        "MATCH (t:Task)-[:HAS_ATTEMPT]->(a {id: $id}) RETURN a.errorContextJson, t.errorContextJson",
        {"id": live.attempt_id},
    ).rows
    assert told[0] == told[1] and json.loads(told[0])["stopDetail"] == ended.stop_detail
    assert json.loads(told[0])["next"] == [], "the newer run has the task"
    assert set(statuses(any_graph, plan).values()) == {"pending"}
    with pytest.raises(StaleFenceError):
        any_graph.record(attempt_owner(live), [turn(1)])
    assert [claimed(any_graph, fresh).task.key for _ in range(2)] == ["t0", "t2"]
    assert any_graph.claim(request(run)) is None


def test_a_run_whose_tasks_are_all_completed_makes_its_plan_done(any_graph: GraphStore) -> None:
    """All tasks completed: the plan is done, and a fresh run makes it ready again."""
    plan, run = opened(any_graph, 2)
    complete(any_graph, claimed(any_graph, run))
    complete(any_graph, claimed(any_graph, run))
    any_graph.finish_run(run.id, "completed", LATER)
    any_graph.finish_run(run.id, "completed", LATER)
    closed = any_graph.run(run.id)
    assert (closed.status, closed.finished_at) == ("completed", LATER)
    assert any_graph.plan(plan.id).status == "done"
    any_graph.open_run(new_run(plan, LATER), fresh=True)
    assert any_graph.plan(plan.id).status == "ready"


def test_a_closed_run_does_not_open_by_itself(any_graph: GraphStore) -> None:
    """A step that lifecycle.py does not have is refused; so are unknown runs and plans."""
    _, run = opened(any_graph, 1)
    any_graph.finish_run(run.id, "cancelled", T0)
    with pytest.raises(TransitionError):
        any_graph.finish_run(run.id, "completed", T0)
    with pytest.raises(UserError, match="no run"):
        any_graph.finish_run(new_id("u"), "completed", T0)
    with pytest.raises(UserError, match="no plan"):
        any_graph.open_run(new_run(new_plan(1)))
