"""How attempts end."""

from __future__ import annotations

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from orchestrator.domain.attempt import AttemptResult, Check, FailureReport
from orchestrator.domain.errors import StaleFenceError
from orchestrator.domain.finding import Finding
from orchestrator.domain.lifecycle import AttemptStatus, TaskStatus, TransitionError
from orchestrator.domain.review import Criterion, Review
from orchestrator.domain.run import Claim
from orchestrator.domain.usage import Usage
from orchestrator.store.graph_store import GraphStore
from tests.support.samples import (
    T0,
    accepted,
    attempt_owner,
    claimed,
    complete,
    new_run,
    opened,
    reply,
    statuses,
    turn,
    unfinished,
)

GATE = Finding(
    code="out_of_scope",
    severity="error",
    message="lib/x.py is out of scope",
    source="scope",
    locus="lib/x.py",
    required_fix="Leave it alone.",
    fingerprint="fp1",
    evidence="+1",
)
QC = Finding(
    code="missing_case",
    severity="warning",
    message="No zero case",
    source="review",
    locus="shop/m0.py",
    required_fix="",
    fingerprint="fp2",
)


def full_review(claim: Claim) -> Review:
    """A review with criteria and findings, and 0, false and None in it."""
    return Review(
        id=f"{claim.attempt_id}:review",
        passed=False,
        score=0,
        feedback="",
        strictness="strict",
        model="q1",
        content_hash="h1",
        prompt_tokens=10,
        completion_tokens=0,
        tool_call_count=2,
        duration_ms=0.0,
        at=T0,
        criteria=(
            Criterion("security", "no secrets", True, "read it"),
            Criterion("other", "fast", None, ""),
            Criterion("functionality", "sells", False, "exit 1"),
        ),
        findings=(QC,),
    )


def test_a_rejected_attempt_keeps_everything_that_the_next_one_needs(any_graph: GraphStore) -> None:
    """Review, criteria, findings, checks, decision and totals come back as written; 0, false and None are three
    values."""
    plan, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    check = Check("check-" + claim.attempt_id, "pytest", None, "infrastructure", 0.0, "", T0, "verification", "pass1")
    any_graph.record_checks(claim, [check])
    any_graph.await_review(claim, "Done.", "tree1", T0)
    review = full_review(claim)
    any_graph.begin_review(claim, dataclasses.replace(review, passed=None, score=None, criteria=(), findings=()))
    opened_review = any_graph.review_of(claim.attempt_id)
    assert opened_review is not None and (opened_review.passed, opened_review.score) == (None, None)
    rejected = dataclasses.replace(
        accepted(claim),
        attempt_status="rejected",
        stop_reason="review_failed",
        task_status="pending",
        task_stop_reason=None,
        review=review,
        findings=(GATE, QC),
        issues=(GATE.message, QC.message),
        required_fixes=(GATE.required_fix,),
        error_context={"exit": 1, "tail": ["a"]},
    )
    assert any_graph.conclude(claim, rejected)
    assert any_graph.review_of(claim.attempt_id) == review
    summary = any_graph.attempt(claim.attempt_id)
    assert summary.findings == (GATE, QC)
    assert summary.checks == (check,)
    assert (summary.usage, summary.status, summary.worker_output) == (rejected.usage, "rejected", "Done.")
    state = any_graph.tasks(plan.id)[0]
    assert (state.status, state.qc_score, state.lease_owner, state.tool_call_count) == ("pending", 0, None, 2)
    row = any_graph.query(
        "MATCH (t:Task)-[:HAS_ATTEMPT]->(a:Attempt {id: $id})-[:CONCLUDED]->(d:Decision) "
        "RETURN a.qcPassed, t.qcPassed, a.issues, a.requiredFixes, a.errorContextJson, t.errorContextJson, d.decision",
        {"id": claim.attempt_id},
    ).rows[0]
    assert list(row) == [
        False,
        False,
        ["lib/x.py is out of scope", "No zero case"],
        ["Leave it alone."],
        '{"exit":1,"tail":["a"]}',
        '{"exit":1,"tail":["a"]}',
        "complete",
    ]
    assert claimed(any_graph, run).number == 2


def test_accepting_moves_the_runs_head_in_the_same_transaction(any_graph: GraphStore) -> None:
    """Review, decision, commit, head and status are one transaction."""
    plan, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    any_graph.await_review(claim, "Done.", "tree1", T0)
    assert any_graph.conclude(claim, accepted(claim, head=("c0", "c1")))
    assert any_graph.run(run.id).head_commit == "c1"
    assert any_graph.attempt(claim.attempt_id).commit == "c1"
    assert statuses(any_graph, plan) == {"t0": "completed"}


def test_a_head_that_moved_leaves_nothing_written(any_graph: GraphStore) -> None:
    """False: merge again and repeat. Nothing of the conclusion is in the graph, not even half of it."""
    plan, run = opened(any_graph, 2, lambda index: [0] if index else [])
    claim = claimed(any_graph, run)
    any_graph.await_review(claim, "Done.", "tree1", T0)
    stale = dataclasses.replace(accepted(claim, head=("old", "c1")), review=full_review(claim), findings=(GATE,))
    before = any_graph.attempt(claim.attempt_id)
    assert any_graph.conclude(claim, stale) is False
    assert any_graph.attempt(claim.attempt_id) == before
    assert any_graph.review_of(claim.attempt_id) is None
    assert any_graph.run(run.id).head_commit == "c0"
    assert statuses(any_graph, plan) == {"t0": "awaiting_qc", "t1": "pending"}
    assert any_graph.conclude(claim, dataclasses.replace(stale, head_before="c0"))


def test_heads_move_one_after_another_however_many_conclude_at_once(any_graph: GraphStore) -> None:
    """Each accepted commit stands on the one before: the compare-and-set on the head loses none."""
    _, run = opened(any_graph, 6)
    claims = [claimed(any_graph, run) for _ in range(6)]
    barrier = threading.Barrier(6)

    def deliver(claim: Claim) -> int:
        any_graph.await_review(claim, "Done.", "tree1", T0)
        barrier.wait()
        for tries in range(1, 100):
            head = any_graph.run(run.id).head_commit
            if any_graph.conclude(claim, accepted(claim, head=(head, f"{head}+{claim.task.key}"))):
                return tries
        return 0

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(deliver, claims))
    assert sorted(any_graph.run(run.id).head_commit.split("+")[1:]) == [f"t{index}" for index in range(6)]


def test_repeating_a_conclusion_is_true_again_and_another_one_is_refused(any_graph: GraphStore) -> None:
    """A lost acknowledgement may be repeated; a closed attempt is not concluded otherwise."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    any_graph.await_review(claim, "Done.", "tree1", T0)
    conclusion = accepted(claim, head=("c0", "c1"))
    assert any_graph.conclude(claim, conclusion)
    assert any_graph.conclude(claim, conclusion)
    assert any_graph.run(run.id).head_commit == "c1"
    with pytest.raises(StaleFenceError):
        any_graph.conclude(claim, unfinished())


@pytest.mark.parametrize(
    ("attempt_status", "task_status"), [("accepted", "completed"), ("rejected", "pending"), ("failed", "completed")]
)
def test_a_step_that_the_tables_do_not_have_is_refused(
    any_graph: GraphStore, attempt_status: AttemptStatus, task_status: TaskStatus
) -> None:
    """lifecycle.py is the only place that knows which status follows which; the store refuses a write that skips."""
    plan, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    skipping: AttemptResult = dataclasses.replace(
        accepted(claim),
        attempt_status=attempt_status,
        task_status=task_status,
    )
    with pytest.raises(TransitionError):
        any_graph.conclude(claim, skipping)
    assert statuses(any_graph, plan) == {"t0": "running"}


def test_a_failed_task_blocks_all_that_waits_for_it_with_the_reason(any_graph: GraphStore) -> None:
    """Dependents are blocked transitively, named after the task at the root of it; others are not."""
    plan, run = opened(any_graph, 5, lambda index: {1: [0], 2: [1], 3: []}.get(index, [0, 3] if index else []))
    claim = claimed(any_graph, run)
    report = FailureReport("It cannot be done", ("a",), 1, (), ("split it",), T0)
    assert any_graph.conclude(claim, dataclasses.replace(unfinished("failed"), diagnosis=report))
    states = {state.task.key: state for state in any_graph.tasks(plan.id)}
    assert {key: state.status for key, state in states.items()} == {
        "t0": "failed",
        "t1": "blocked",
        "t2": "blocked",
        "t3": "pending",
        "t4": "blocked",
    }
    assert {states[key].blocked_by for key in ("t1", "t2", "t4")} == {"t0"}
    assert {states[key].stop_reason for key in ("t1", "t2", "t4")} == {"dependency_failed"}
    assert (states["t0"].stop_reason, states["t3"].blocked_by) == ("attempts_exhausted", None)
    found = any_graph.query(
        "MATCH (:Task {id: $id})-[:DIAGNOSED_AS]->(d) RETURN d.summary, d.tried", {"id": f"{plan.id}:t0"}
    )
    assert list(found.rows) == [["It cannot be done", []]]


def test_what_was_blocked_is_released_when_its_cause_completes_after_all(any_graph: GraphStore) -> None:
    """A new run retries the failed task; its dependents wait again and are claimable once it completes."""
    plan, run = opened(any_graph, 3, lambda index: [index - 1] if index else [])
    any_graph.conclude(claimed(any_graph, run), unfinished("failed"))
    any_graph.finish_run(run.id, "failed", T0)
    again = any_graph.open_run(new_run(plan))
    assert statuses(any_graph, plan) == {"t0": "pending", "t1": "pending", "t2": "pending"}
    complete(any_graph, claimed(any_graph, again))
    assert claimed(any_graph, again).task.key == "t1"


def test_spend_counts_open_turns_in_full_and_reviews_too(any_graph: GraphStore) -> None:
    """An unsettled turn counts with what it reserved, so that a crash refills no budget, and that share is told; a
    price that is unknown makes the sum unknown."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    assert any_graph.spend(run_id=run.id) == Usage(prompt_tokens=0, completion_tokens=0, cost_usd=0.0)
    reserved: Any = {"reserved_tokens": 900, "reserved_usd": 0.5}
    any_graph.record(attempt_owner(claim), [turn(1), reply(1), turn(2)])
    assert any_graph.spend(run_id=run.id) == Usage(
        prompt_tokens=100 + 900,
        cached_tokens=60,
        cache_write_tokens=30,
        completion_tokens=20,
        reasoning_tokens=8,
        cost_usd=0.125 + 0.5,
        **reserved,
    )
    any_graph.await_review(claim, "Done.", "tree1", T0)
    review = dataclasses.replace(full_review(claim), passed=None)
    any_graph.begin_review(claim, review)
    owner = dataclasses.replace(attempt_owner(claim), label="Review", id=review.id)
    any_graph.record(owner, [turn(1), reply(1, cost_usd=0.0)])
    kinds: Any = {"cached_tokens": 120, "cache_write_tokens": 60, "reasoning_tokens": 16}
    whole = Usage(prompt_tokens=1_100, completion_tokens=40, cost_usd=0.625, **kinds, **reserved)
    assert any_graph.spend(run_id=run.id, task_id=claim.task.id) == whole
    assert any_graph.spend(task_id=claim.task.id) == whole
    assert any_graph.spend(task_id=claim.task.id, attempt_id=claim.attempt_id) == whole
    assert any_graph.spend(task_id=claim.task.id, attempt_id="another").tokens == 0
    assert any_graph.spend(run_id=run.id, task_id="other") == Usage(prompt_tokens=0, completion_tokens=0, cost_usd=0.0)
    any_graph.record(owner, [turn(3), reply(3, cost_usd=None)])
    assert any_graph.spend(run_id=run.id).cost_usd is None
