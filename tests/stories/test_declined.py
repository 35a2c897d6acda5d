"""A model that declines, or whose replies are cut: what ends, what is asked again, what is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, plan_of, review, script, task, worker
from tests.support.story import Story, attempts

WRITE = call("write_file", path="calc.py", file_text=SUB)
SAID = "I cannot help with that."
NO: dict[str, Any] = {"text": SAID, "finish_reason": "refusal"}
TURNS = "MATCH (t:Turn) RETURN t.finishReason AS ended, t.text AS text ORDER BY t.startedAt"


@pytest.mark.parametrize("ended", ["refusal", "content_filter"])
def test_a_plan_whose_every_attempt_is_declined_ends(story: Story, model: Serve, ended: str) -> None:
    """Two conversations are declined, then the task has failed: with what the model said in graph, diagnosis and
    story, and a new run does not ask it the same again."""
    served = model(script(worker("subtract", WRITE, {**NO, "finish_reason": ended})))
    story.plan(plan_of(task("subtract")))

    done = story.run("execute")

    assert done.returncode == 1
    assert attempts(story) == [(1, "stopped", "model_declined"), (2, "stopped", "model_declined")]
    assert [(turn["ended"], turn["text"]) for turn in story.ask(TURNS)] == [("tool_calls", ""), (ended, SAID)] * 2
    (row,) = story.ask(
        "MATCH (t:Task)-[:DIAGNOSED_AS]->(d) RETURN t.stopReason AS reason, d.tried AS tried, d.actions AS next"
    )
    assert row["reason"] == "stops_exhausted"
    assert all("model_declined" in tried and SAID in tried for tried in row["tried"])
    assert row["next"][0].startswith("Reword the task's prompt, or give it another model")
    assert "the model declined" in done.stderr
    assert f"ended: {ended}" in story.ok("show", "subtract:1")
    asked = len(served.requests)
    assert "is left out" in story.run("execute").stderr
    assert len(served.requests) == asked


def test_a_qc_that_declines_is_qcs_failure(story: Story, model: Serve) -> None:
    """Asked twice without a verdict the attempt ends as review_error, no finding against the work; a further attempt
    hands the same work in again."""
    declining = {"when": {"role": "verifier", "attempt": 1}, "replies": [{**NO, **call("submit_review", passed=True)}]}
    model(script(worker("subtract", WRITE, finish()), declining, review()))
    story.plan(plan_of(task("subtract")))

    story.ok("execute")

    first, second = attempts(story)
    assert (first, second) == ((1, "failed", "review_error"), (2, "accepted", "accepted"))
    (row,) = story.ask("MATCH (a:Attempt {number: 1}) RETURN a.stopDetail AS why, a.issues AS issues")
    assert "QC gave no review: model_declined." in row["why"] and SAID in row["why"]
    assert len(row["issues"]) == 1


def test_a_pm_that_declines_ends_the_planning_with_one_error(story: Story, model: Serve) -> None:
    """It is asked once; the error says what it said, what to do, and where the round is, which show has whole."""
    served = model(script({"when": {"role": "planner"}, "replies": [NO]}))

    done = story.run("plan", "Make it better")

    assert done.returncode == 3
    assert len(served.requests) == 1
    said = done.stderr.split("Error:")[1]
    assert "The PM's model declined to plan this" in said and SAID in said
    assert "Reword the goal" in said and "ORCHESTRATE_PM_MODEL" in said
    plan_id = said.split("orchestrate show ")[1].split("`")[0]
    assert "ended: refusal" in story.ok("show", plan_id)
    assert story.ask("MATCH (p:Plan) RETURN p.status AS status") == [{"status": "rejected"}]


def test_a_model_whose_replies_are_always_cut_is_told_so_and_the_user_what_to_raise(story: Story, model: Serve) -> None:
    """The worker hears where its replies are cut; the end names the setting."""
    served = model(script(worker("subtract", {"text": "Let me think about", "finish_reason": "length"})))
    story.environ["ORCHESTRATE_MODELS_WORKER_MAX_OUTPUT_TOKENS"] = "700"
    story.plan(plan_of(task("subtract")))

    assert story.run("execute", "--task", "subtract").returncode == 1

    reminded = [
        str(m["content"]) for m in served.requests[1]["messages"] if "was cut at 700 tokens" in str(m["content"])
    ]
    assert len(reminded) == 1
    (row, *_) = story.ask("MATCH (a:Attempt) RETURN a.stopReason AS reason, a.errorContextJson AS report")
    report = json.loads(row["report"])
    assert row["reason"] == "no_action"
    assert report["guard"]["evidence"] == {"replies cut off at max_output_tokens": 3}
    assert "Raise max_output_tokens" in report["advice"][0]
