"""What of a turn's tokens was cached, written to the cache or thought: stored, summed, and absent in older graphs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from orchestrator.domain.run import Claim, Run
from orchestrator.domain.usage import Usage
from orchestrator.store.graph_store import GraphStore
from tests.support.samples import T0, accepted, attempt_owner, claimed, opened, reply, turn

LATE = T0 + timedelta(days=1)
OF_ATTEMPT = (
    "MATCH (a:Attempt {id: $id}) RETURN a.promptTokens, a.cachedTokens, a.cacheWriteTokens, a.completionTokens, "
    "a.reasoningTokens"
)
FORGET = "MATCH (:Attempt {id: $id})-[:TOOK]->(t:Turn {seq: 1}) REMOVE t.cacheWriteTokens, t.reasoningTokens"


def _two_turns(graph: GraphStore) -> tuple[Run, Claim]:
    """An attempt of two replies of 100 prompt tokens (60 cached, 30 written to the cache) and 20 of completion (8
    thought)."""
    _, run = opened(graph, 1)
    claim = claimed(graph, run)
    graph.record(attempt_owner(claim), [turn(1), reply(1), turn(2), reply(2)])
    return run, claim


def _row(graph: GraphStore, cypher: str, claim: Claim) -> list[Any]:
    (row,) = graph.query(cypher, {"id": claim.attempt_id}).rows
    return list(row)


def _kinds(usage: Usage) -> tuple[int, ...]:
    return (
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.cache_write_tokens,
        usage.completion_tokens,
        usage.reasoning_tokens,
    )


def test_a_turn_keeps_what_its_tokens_were_for_and_not_the_message(any_graph: GraphStore) -> None:
    """The counts are properties; the message in the form of its wire is for the endpoint alone."""
    _, claim = _two_turns(any_graph)
    (kept,) = _row(any_graph, "MATCH (:Attempt {id: $id})-[:TOOK]->(t:Turn {seq: 1}) RETURN properties(t)", claim)
    assert (kept["cachedTokens"], kept["cacheWriteTokens"], kept["reasoningTokens"]) == (60, 30, 8)
    assert not [name for name in kept if name.startswith("message")]


def test_what_a_run_and_a_task_have_used_holds_them(any_graph: GraphStore) -> None:
    """Summed over turns, as the others; a turn that an older release recorded counts 0."""
    run, claim = _two_turns(any_graph)
    for spend in (any_graph.spend(run_id=run.id), any_graph.spend(task_id=claim.task.id)):
        assert _kinds(spend) == (200, 120, 60, 40, 16)
    _forget_first(any_graph, claim)
    for spend in (any_graph.spend(run_id=run.id), any_graph.spend(task_id=claim.task.id)):
        assert _kinds(spend) == (200, 120, 30, 40, 8)


def test_an_attempt_that_ended_and_one_that_was_cut_off_hold_them(any_graph: GraphStore) -> None:
    """The one as its worker's journal has them, the other as its turns in the graph have."""
    run, claim = _two_turns(any_graph)
    _forget_first(any_graph, claim)
    (orphan,) = any_graph.orphans(run.id, LATE, [])
    assert any_graph.close_interrupted(orphan, LATE)
    assert _row(any_graph, OF_ATTEMPT, claim) == [200, 120, 30, 40, 8]
    assert _kinds(any_graph.attempt(claim.attempt_id).usage) == (200, 120, 30, 40, 8)

    _, other = opened(any_graph, 1)
    done = claimed(any_graph, other)
    any_graph.await_review(done, "Done.", "tree9", T0)
    assert any_graph.conclude(done, accepted(done))
    assert _row(any_graph, OF_ATTEMPT, done) == [100, 80, 10, 20, 15]


def _forget_first(graph: GraphStore, claim: Claim) -> None:
    """As if an older release had recorded the first turn."""
    graph.query(FORGET, {"id": claim.attempt_id}, write=True)
