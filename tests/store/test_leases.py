"""Claiming, leases, takeover."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.domain.errors import StaleFenceError
from orchestrator.domain.events import ToolRequested
from orchestrator.domain.plan import Plan
from orchestrator.domain.run import Run
from orchestrator.store.graph_store import GraphStore
from tests.support.graph_servers import GraphServer
from tests.support.samples import (
    T0,
    accepted,
    attempt_owner,
    call,
    claimed,
    complete,
    opened,
    reply,
    request,
    statuses,
    turn,
    unfinished,
)

ROOT = Path(__file__).resolve().parents[2]
LATE = T0 + timedelta(hours=1)


def test_tasks_are_claimed_in_plan_order_when_their_dependencies_are_completed(any_graph: GraphStore) -> None:
    """A claim takes the first ready task; what waits for another is not claimable."""
    plan, run = opened(any_graph, 3, lambda index: [0] if index == 1 else [])
    first, third = claimed(any_graph, run), claimed(any_graph, run)
    assert (first.task.key, third.task.key) == ("t0", "t2")
    assert any_graph.claim(request(run)) is None
    complete(any_graph, first)
    second = claimed(any_graph, run)
    assert second.task == plan.tasks[1].task
    assert (second.number, second.fence, second.attempt_id) == (1, second.fence, f"{plan.id}:t1:1")


def test_a_claim_has_its_lease_fence_and_attempt_node_at_once(any_graph: GraphStore) -> None:
    """The attempt's node exists before its first turn."""
    plan, run = opened(any_graph, 1)
    claim = claimed(any_graph, run, owner="worker-7")
    summary = any_graph.attempt(claim.attempt_id)
    assert (summary.status, summary.number) == ("running", 1)
    assert (summary.started_at, summary.run_id, summary.task_key) == (T0, run.id, "t0")
    state = any_graph.tasks(plan.id)[0]
    assert (state.status, state.lease_owner, state.attempt_number) == ("running", "worker-7", 1)
    assert any_graph.owners(run.id) == ("worker-7",)


def test_keys_limit_the_choice(any_graph: GraphStore) -> None:
    """`--task` claims only the tasks named."""
    _, run = opened(any_graph, 3)
    assert claimed(any_graph, run, keys=("t2",)).task.key == "t2"
    assert any_graph.claim(request(run, keys=("t2",))) is None
    assert any_graph.claim(request(run, keys=())) is None


def test_nothing_is_claimed_for_a_run_that_is_over(any_graph: GraphStore) -> None:
    """A closed or interrupted run hands out no work."""
    _, run = opened(any_graph, 1)
    any_graph.finish_run(run.id, "interrupted", T0)
    assert any_graph.claim(request(run)) is None


def test_eight_threads_and_two_processes_claim_100_tasks_without_a_double(graph_server: GraphServer) -> None:
    """The lock is written first, then looked: every task is claimed exactly once."""
    with graph_server.open() as graph:
        plan, run = opened(graph, 100)
    claimers = [_claimer(graph_server, run, plan, f"process{number}-") for number in range(2)]
    outputs = [process.communicate(timeout=240)[0] for process in claimers]
    attempts = [line for output in outputs for line in output.split()]
    assert [process.returncode for process in claimers] == [0, 0]
    assert sorted(attempts) == sorted(f"{plan.id}:t{index}:1" for index in range(100))


def _claimer(server: GraphServer, run: Run, plan: Plan, owner: str) -> subprocess.Popen[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("NEO4J_")}
    command = [sys.executable, "-m", "tests.support.claimer", str(server.home), run.id, plan.id, owner, "4"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environ | server.environ)


def test_no_dependent_is_forgotten_when_its_dependencies_end_at_once(any_graph: GraphStore) -> None:
    """Six workers complete layers of six that all wait for the whole layer before: somebody's last look marks each
    dependent as ready."""
    plan, run = opened(any_graph, 30, lambda index: range(index // 6 * 6 - 6, index // 6 * 6) if index >= 6 else [])
    left = threading.Event()

    def work(owner: str) -> int:
        done = 0
        while not left.is_set():
            claim = any_graph.claim(request(run, owner))
            if claim is None:
                left.wait(0.02)
                continue
            complete(any_graph, claim)
            done += 1
            if claim.task.key == "t29":
                left.set()
        return done

    with ThreadPoolExecutor(6) as pool:
        futures = [pool.submit(work, f"w{number}") for number in range(6)]
        if not left.wait(120):
            left.set()
            pytest.fail(f"stalled: {statuses(any_graph, plan)}")
        any_left = sum(future.result() for future in futures)
    while (claim := any_graph.claim(request(run))) is not None:
        complete(any_graph, claim)
        any_left += 1
    assert any_left == 30
    assert set(statuses(any_graph, plan).values()) == {"completed"}


def test_leases_are_renewed_by_owner(any_graph: GraphStore) -> None:
    """An owner keeps all its leases with one call; another's stay."""
    _, run = opened(any_graph, 3)
    owner, other = f"me-{run.id}", f"other-{run.id}"
    mine = [claimed(any_graph, run, owner) for _ in range(2)]
    theirs = claimed(any_graph, run, other)
    assert any_graph.renew_leases(owner, LATE + timedelta(hours=1)) == 2
    assert any_graph.renew_leases("nobody", LATE) == 0
    assert [orphan.attempt_id for orphan in any_graph.orphans(run.id, LATE, [])] == [theirs.attempt_id]
    found = {orphan.attempt_id for orphan in any_graph.orphans(run.id, T0, [owner])}
    assert found == {claim.attempt_id for claim in mine}


def test_an_orphan_is_closed_as_interrupted_and_its_successor_follows_it(any_graph: GraphStore) -> None:
    """A process that dies leaves a lease that expires, an attempt closed as interrupted by the next one, unfinished
    calls marked (of which the one that had begun counts), and a successor with a higher fence that follows it."""
    plan, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    begun, later = call(2), call(3)
    at = T0 + timedelta(seconds=7)
    any_graph.record(
        attempt_owner(claim),
        [turn(1), reply(1, (begun, later), at=at), ToolRequested(at=at, turn_seq=1, call=begun)],
    )
    (orphan,) = any_graph.orphans(run.id, LATE, [])
    assert (orphan.task_key, orphan.owner, orphan.last_event_at) == ("t0", "me", T0 + timedelta(seconds=7))
    assert any_graph.close_interrupted(orphan, LATE)
    assert not any_graph.close_interrupted(orphan, LATE)
    assert any_graph.orphans(run.id, LATE, []) == ()
    assert statuses(any_graph, plan) == {"t0": "pending"}
    calls = any_graph.query(
        "MATCH (:Attempt {id: $id})-[:TOOK]->()-[:CALLED]->(c) RETURN c.status, c.executed ORDER BY c.seq",
        {"id": claim.attempt_id},
    )
    assert list(calls.rows) == [["interrupted", True], ["interrupted", False]]
    successor = claimed(any_graph, run, "next")
    assert (successor.number, successor.fence) == (2, orphan.fence + 2)
    first, second = any_graph.history(claim.task.id)
    assert (first.status, first.stop_reason, first.finished_at) == ("interrupted", "interrupted", LATE)
    assert "is gone" in (first.stop_detail or "")
    told = any_graph.query(
        "MATCH (t:Task)-[:HAS_ATTEMPT]->(a:Attempt {id: $id}) RETURN a.errorContextJson, t.errorContextJson, a.issues",
        {"id": claim.attempt_id},
    ).rows[0]
    assert told[0] == told[1] and json.loads(told[0])["issues"] == told[2] == [first.stop_detail]
    assert json.loads(told[0])["next"] == [f"orchestrate execute {plan.id}"]
    used = any_graph.query(
        "MATCH (a:Attempt {id: $id}) RETURN a.turnCount, a.toolCallCount, a.durationMs, a.promptTokens > 0",
        {"id": claim.attempt_id},
    )
    assert list(used.rows) == [[1, 1, 7000.0, True]]
    assert (second.status, second.follows) == ("running", first.id)


def test_exactly_one_of_many_takers_closes_an_orphan(any_graph: GraphStore) -> None:
    """Takeover is a compare-and-set on the attempt's fence."""
    _, run = opened(any_graph, 1)
    claimed(any_graph, run)
    (orphan,) = any_graph.orphans(run.id, LATE, [])
    with ThreadPoolExecutor(6) as pool:
        wins = list(pool.map(lambda _: any_graph.close_interrupted(orphan, LATE), range(6)))
    assert wins.count(True) == 1


def test_an_attempt_awaiting_its_review_can_be_taken_over_too(any_graph: GraphStore) -> None:
    """An owner that died during QC is an orphan like any other; what it still tries is refused."""
    plan, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    any_graph.await_review(claim, "Done.", "tree1", T0)
    any_graph.await_review(claim, "Done.", "tree1", T0)
    assert statuses(any_graph, plan) == {"t0": "awaiting_qc"}
    (orphan,) = any_graph.orphans(run.id, T0, ["me"])
    assert any_graph.close_interrupted(orphan, LATE)
    with pytest.raises(StaleFenceError):
        any_graph.conclude(claim, accepted(claim))
    with pytest.raises(StaleFenceError):
        any_graph.describe_attempt(claim, {"model": "late"})


def test_an_attempt_is_described_after_the_claim(any_graph: GraphStore) -> None:
    """Model, tree, budget, stage and limits are known only later; `follows` may name another attempt."""
    _, run = opened(any_graph, 1)
    first = claimed(any_graph, run)
    any_graph.conclude(first, unfinished())
    second = claimed(any_graph, run)
    any_graph.conclude(second, unfinished())
    third = claimed(any_graph, run)
    assert any_graph.attempt(third.attempt_id).follows == second.attempt_id
    described = {"model": "m9", "tree_before": "tb", "tool_call_budget": 33, "stage": 2, "strategy": "after_rejection"}
    described |= {"limits_json": '{"budget":33}'}
    any_graph.describe_attempt(third, {**described, "follows": first.attempt_id})
    summary = any_graph.attempt(third.attempt_id)
    assert {name: getattr(summary, name) for name in described} == described
    assert summary.follows == first.attempt_id
    links = any_graph.query("MATCH (:Attempt {id: $id})-[:FOLLOWS]->(b) RETURN b.id", {"id": third.attempt_id})
    assert list(links.rows) == [[first.attempt_id]]


def test_work_is_left_as_long_as_a_task_is_worked_on_or_may_be_claimed(any_graph: GraphStore) -> None:
    """What waits for a task that failed is no work; keys limit the question as they do the claim."""
    plan, run = opened(any_graph, 3, lambda index: [0] if index == 1 else [])

    def left(*keys: str) -> bool:
        return any_graph.work_left(plan.id, keys or None)

    assert left() and left("t0") and not left("t1")
    first, third = claimed(any_graph, run), claimed(any_graph, run)
    assert left("t0") and left("t2")
    complete(any_graph, third)
    assert left() and not left("t2")
    complete(any_graph, first)
    assert left("t1")
    complete(any_graph, claimed(any_graph, run))
    assert not left()
