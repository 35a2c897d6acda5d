"""What the ledger and pre-flight read of the past: spans of work, accepted calls, and a turn's standing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from orchestrator.domain.attempt import Owner
from orchestrator.domain.events import GuardCounters
from orchestrator.domain.fix import Fix
from orchestrator.domain.plan import PlanningRound
from orchestrator.domain.usage import total_usage
from orchestrator.store.graph_store import GraphStore
from tests.support.samples import T0, accepted, attempt_owner, claimed, opened, reply, turn, unfinished


def test_accepted_attempts_tell_their_calls_by_kind(any_graph: GraphStore) -> None:
    """Attempts that were not accepted, and other repositories, say nothing about a default budget."""
    plan, run = opened(any_graph, 2)
    assert any_graph.accepted_calls(plan.repository.id) == {}
    first, second = claimed(any_graph, run), claimed(any_graph, run)
    conclusion = accepted(first, (run.head_commit, "1" * 40))
    usage = replace(conclusion.usage, tool_call_count=7)
    any_graph.await_review(first, "Done.", "tree9", T0)
    assert any_graph.conclude(first, replace(conclusion, usage=usage))
    any_graph.conclude(second, unfinished())
    assert any_graph.accepted_calls(plan.repository.id) == {first.task.kind: (7,)}


def test_a_task_keeps_what_was_mended_in_it(any_graph: GraphStore) -> None:
    """Oldest first, as it was written, however often the conclusion is repeated."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    assert any_graph.fixes(claim.task.id) == ()
    made: dict[str, Any] = {"code": "naming", "locus": "a.py", "fingerprint": "f1:0", "path": "a.py", "attempt": 1}
    made |= {"verified_by": "p", "tree": "t", "found_by": "review"}
    fixes = tuple(Fix(**made, blob_before=blob, blob_after="b2") for blob in ("", "b1"))
    result = replace(unfinished(), outcome="progress", fixes=fixes)
    assert any_graph.conclude(claim, result) and any_graph.conclude(claim, result)
    assert any_graph.fixes(claim.task.id) == fixes
    assert any_graph.attempt(claim.attempt_id).outcome == "progress"


def test_spans_end_with_the_last_fact_of_an_attempt_that_died(any_graph: GraphStore) -> None:
    """A running attempt spans to its newest event, not to the time at which someone noticed that it had died."""
    _, run = opened(any_graph, 1)
    assert any_graph.spans(run.id) == ()
    claim = claimed(any_graph, run)
    at = T0 + timedelta(minutes=3)
    any_graph.record(attempt_owner(claim), [turn(1, at)])
    assert any_graph.spans(run.id) == ((claim.at, at),)
    (orphan,) = any_graph.orphans(run.id, at + timedelta(days=1), ())
    any_graph.close_interrupted(orphan, at + timedelta(days=1))
    assert any_graph.spans(run.id) == ((claim.at, at),)


def test_a_decision_about_a_grant_costs_the_run_and_the_task(any_graph: GraphStore) -> None:
    """The PM's turns for an attempt's requests are part of what the attempt's run and task have spent."""
    plan, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    any_graph.record(attempt_owner(claim), [turn(1), reply(1)])
    before = any_graph.spend(run_id=run.id)
    round_id = f"{claim.attempt_id}:calls1"
    any_graph.store_round(PlanningRound(round_id, plan.id, 0, "budget"))
    any_graph.record(Owner("PlanningRound", round_id), [turn(1), reply(1)])
    twice = total_usage((before, before))
    assert any_graph.spend(run_id=run.id) == twice
    assert any_graph.spend(task_id=claim.task.id) == twice


def test_a_turn_keeps_how_things_stood(any_graph: GraphStore) -> None:
    """Calls, requests, turns, their limits, the stall count and the history's size come back as written."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    counters = GuardCounters(
        calls_used=3, calls_limit=20, requests_used=5, requests_limit=60, stall_count=2, turns_used=4, turns_limit=30
    )
    asked = turn(1, counters=counters, history_messages=12)
    any_graph.record(attempt_owner(claim), [asked])
    assert any_graph.events(claim.attempt_id) == (asked,)
