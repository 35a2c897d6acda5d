"""What replies are made of and how they end is told alike, whichever API a model is spoken to by."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, plan_of, review, script, task, worker
from tests.support.story import Story, attempts

APIS = ("chat", "responses", "messages")
WRITE = call("write_file", path="calc.py", file_text=SUB)
SUMS = (
    "MATCH (:Attempt)-[:TOOK]->(t:Turn) RETURN sum(t.reasoningTokens) AS reasoning, sum(t.cacheWriteTokens) AS "
    "written, sum(t.cachedTokens) AS cached, "
    "sum(CASE WHEN t.reasoningTokens > t.completionTokens THEN 1 ELSE 0 END) AS wrong"
)
KEPT = (
    "MATCH (a:Attempt) RETURN a.reasoningTokens AS reasoning, a.cacheWriteTokens AS written, a.cachedTokens AS cached"
)
ENDS = "MATCH (:Attempt)-[:TOOK]->(t:Turn) RETURN t.finishReason AS ended, t.text AS text ORDER BY t.startedAt"


def _planned(story: Story, api: str) -> Story:
    story.environ |= {"ORCHESTRATE_MODELS_API": api, "ORCHESTRATE_MODELS_MAX_OUTPUT_TOKENS": "4096"}
    story.plan(plan_of(task("subtract")))
    return story


@pytest.mark.parametrize("api", APIS)
def test_a_refusal_is_the_same_end_over_each_api(story: Story, model: Serve, api: str) -> None:
    """The endpoint's own form of it is one word in the graph, with what was said, and one stop reason."""
    model(script(worker("subtract", WRITE, {"text": "I cannot help.", "finish_reason": "refusal"})))
    assert _planned(story, api).run("execute").returncode == 1
    assert attempts(story) == [(1, "stopped", "model_declined"), (2, "stopped", "model_declined")]
    assert [(turn["ended"], turn["text"]) for turn in story.ask(ENDS)][1] == ("refusal", "I cannot help.")


@pytest.mark.parametrize("api", APIS)
def test_tokens_of_reasoning_are_counted_summed_and_shown(story: Story, model: Serve, api: str) -> None:
    """On each turn, on the attempt, of task and run; on the screen and as JSON."""
    thinking: dict[str, Any] = {**WRITE, "reasoning": "What is lacking? A subtraction, and nothing else. " * 4}
    model(script(worker("subtract", thinking, finish()), review()))
    _planned(story, api).ok("execute")

    (sums,), (kept,) = story.ask(SUMS), story.ask(KEPT)
    assert sums["wrong"] == 0 and sums["reasoning"] > 0
    assert {name: sums[name] for name in kept} == kept
    assert (sums["written"] > 0) is (api == "messages")
    status = json.loads(story.ok("status", "--json"))
    assert status["reasoningTokens"] >= sums["reasoning"] and status["cacheWriteTokens"] >= sums["written"]
    shown = story.ok("show", "subtract")
    assert " reasoning), " in shown
    assert f"{sums['reasoning']} reasoning)" in story.ok("show", "subtract:1")
    story_of_it = json.loads(story.ok("show", "subtract:1", "--json"))
    assert story_of_it["steps"][0]["reasoningTokens"] == sums["reasoning"]
    assert story_of_it["steps"][0]["finishReason"] == "tool_calls"


def test_a_paused_turn_goes_on_where_it_was(story: Story, model: Serve) -> None:
    """Anthropic's pause_turn: what came goes back last and as it came, and the work goes on."""
    pause = {"text": "Let me look that up", "finish_reason": "pause"}
    served = model(script(worker("subtract", WRITE, pause, finish()), review()))
    _planned(story, "messages").ok("execute")

    assert [turn["ended"] for turn in story.ask(ENDS)] == ["tool_calls", "pause", "tool_calls"]
    last = served.requests[2]["messages"][-1]
    assert last["role"] == "assistant"
    assert [block["text"] for block in last["content"]] == ["Let me look that up"]
    assert "ended: pause" in story.ok("show", "subtract:1")
