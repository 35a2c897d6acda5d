"""Reserving a turn where several processes pay from one run: lock, look, then write."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from orchestrator.domain.attempt import Owner
from orchestrator.domain.errors import StaleFenceError
from orchestrator.domain.plan import PlanningRound
from orchestrator.domain.run import Claim
from orchestrator.domain.usage import AttemptUsage, Usage
from orchestrator.store.graph_store import GraphStore
from tests.store.samples import T0, attempt_owner, claimed, opened, reply, turn, unfinished


def looked(graph: GraphStore, claim: Claim, known: Sequence[str] = (), *, fits: bool = True) -> list[AttemptUsage]:
    """What the claim's worker sees when it reserves its first turn."""
    seen: list[AttemptUsage] = []

    def judge(uses: Sequence[AttemptUsage]) -> bool:
        seen[:] = uses
        return fits

    done = graph.reserve(
        attempt_owner(claim), [turn(1)], run_id=claim.run_id, worker=claim.owner, known=known, fits=judge
    )
    assert done is fits
    return seen


def test_a_reservation_sees_what_others_used_and_reserved(any_graph: GraphStore) -> None:
    """Other workers' attempts with their PM decisions, unsettled turns in full; not one's own, and not
    those that are closed and known. Working time is the attempt's without its waits."""
    plan, run = opened(any_graph, 3)
    other, mine = claimed(any_graph, run, "other"), claimed(any_graph, run, "me")
    later = T0 + timedelta(seconds=60)
    any_graph.record(
        attempt_owner(other), [turn(1), reply(1, at=later, wait_ms=20_000.0, cost_usd=0.25), turn(2, at=later)]
    )
    round_id = f"{other.attempt_id}:calls1"
    any_graph.store_round(PlanningRound(round_id, plan.id, 0, "budget"))
    any_graph.record(Owner("PlanningRound", round_id), [turn(1), reply(1, cost_usd=0.0)])
    seen = looked(any_graph, mine)
    assert seen == [
        AttemptUsage(
            attempt_id=other.attempt_id,
            task_id=other.task.id,
            closed=False,
            usage=Usage(prompt_tokens=100 + 900 + 100, completion_tokens=40, cost_usd=0.75),
            worked_s=40.0,
        )
    ]
    assert any_graph.conclude(other, unfinished())
    third = claimed(any_graph, run, "third", keys=("t2",))
    known = {use.attempt_id: use.closed for use in looked(any_graph, third)}
    assert known == {other.attempt_id: True, mine.attempt_id: False}
    assert [use.attempt_id for use in looked(any_graph, third, [other.attempt_id])] == [mine.attempt_id]


def test_what_is_not_borne_is_not_written(any_graph: GraphStore) -> None:
    """Refused: no turn stands in the graph, and the reservation weighs on nobody."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    looked(any_graph, claim, fits=False)
    assert any_graph.events(claim.attempt_id) == ()
    looked(any_graph, claim)
    assert any_graph.events(claim.attempt_id) == (turn(1),)


def test_a_reservation_carries_its_fence(any_graph: GraphStore) -> None:
    """A worker that lost its task reserves nothing."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    assert any_graph.conclude(claim, unfinished())
    with pytest.raises(StaleFenceError):
        looked(any_graph, claim)


def test_many_processes_never_reserve_more_than_there_is(any_graph: GraphStore) -> None:
    """Eight workers reserve 900 tokens each where 4,500 may be used: exactly five are let through."""
    _, run = opened(any_graph, 8)
    claims = [claimed(any_graph, run, f"w{n}") for n in range(8)]

    def fits(uses: Sequence[AttemptUsage]) -> bool:
        return sum(use.usage.prompt_tokens for use in uses) + 900 <= 4_500

    def reserve(claim: Claim) -> bool:
        return any_graph.reserve(
            attempt_owner(claim), [turn(1)], run_id=run.id, worker=claim.owner, known=(), fits=fits
        )

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(reserve, claims)) == 5
    assert any_graph.spend(run_id=run.id).prompt_tokens == 4_500
