"""Replies that are lost while the endpoint works at them: what the graph, the bounds and the screen make of them."""

from __future__ import annotations

import json

import pytest

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, plan_of, review, script, task, worker
from tests.support.story import Story, attempts

WRITE = call("write_file", path="calc.py", file_text=SUB)
TURNS = (
    "MATCH (:Attempt)-[:TOOK]->(t:Turn) RETURN t.status AS status, t.finishReason AS reason, t.estimated AS estimated, "
    "t.promptTokens + t.completionTokens AS tokens, t.costUsd AS usd, t.reservedTokens AS mostTokens, "
    "t.reservedUsd AS mostUsd, t.text AS text ORDER BY t.seq"
)


@pytest.fixture
def cut(story: Story, model: Serve) -> Story:
    """A plan whose worker's first reply breaks off in the middle; what its tokens cost is known."""
    model(script(worker("subtract", {**WRITE, "fault": {"cut": True}}, WRITE, finish()), review()))
    for role in ("WORKER", "VERIFIER"):
        story.environ[f"ORCHESTRATE_MODELS_{role}_PRICE"] = json.dumps({"input": 1, "output": 4})
    story.plan(plan_of(task("subtract")))
    return story


def test_a_lost_reply_is_a_turn_that_cost_what_it_reserved(cut: Story) -> None:
    """The request is sent again as a turn of its own, the screen says that the endpoint was working, and the run's cost
    holds what was lost."""
    said = cut.screen("execute")

    assert "had accepted the request and was working, but the connection failed" in " ".join(said.split())
    lost, *rest = cut.ask(TURNS)
    assert (lost["status"], lost["reason"], lost["estimated"]) == ("failed", "lost", True)
    assert (lost["tokens"], lost["usd"]) == (lost["mostTokens"], lost["mostUsd"])
    assert "connection" in lost["text"]
    assert [turn["status"] for turn in rest] == ["replied", "replied"]
    [row] = cut.ask("MATCH (a:Attempt) RETURN a.tokenCount AS tokens, a.costUsd AS usd")
    assert row["tokens"] >= lost["tokens"] + sum(turn["tokens"] for turn in rest)
    assert json.loads(cut.ok("status", "--json"))["costUsd"] >= row["usd"] > lost["usd"] > 0
    assert attempts(cut) == [(1, "accepted", "accepted")]
