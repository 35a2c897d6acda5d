"""A model that is not named, not paid for, or not there: one clear message, the documented exit code, nothing lost."""

from __future__ import annotations

import pytest

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, plan_of, review, script, task, worker
from tests.support.story import Story, complaint

WRITE = call("write_file", path="calc.py", file_text=SUB)
PLAN = plan_of(task("subtract"))


def test_without_a_key_the_message_names_both_variables(story: Story) -> None:
    """No key and no endpoint: exit 2, and what to set."""
    story.environ["ORCHESTRATE_MODEL"] = "gpt-5"
    message = complaint(story.run("plan", "Add subtract"), 2)
    assert "OPENAI_API_KEY" in message
    assert "OPENAI_BASE_URL" in message


def test_without_a_model_name_the_message_names_the_variable(story: Story, model: Serve) -> None:
    """An endpoint but no model: exit 2, and ORCHESTRATE_MODEL."""
    model(script(review()))
    del story.environ["ORCHESTRATE_MODEL"]
    story.plan(PLAN)
    assert "ORCHESTRATE_MODEL" in complaint(story.run("execute"), 2)


@pytest.mark.parametrize(
    ("fault", "hint"),
    [
        ({"status": 401}, "401"),
        ({"status": 429, "retry_after": 0}, "429"),
        ({"html": True}, "HTML"),
        ({"cut": True}, ""),
        ({"close": True}, ""),
        ({"empty_choices": True}, ""),
    ],
    ids=["refuses the key", "rate limits", "answers html", "cuts the reply", "hangs up", "no choices"],
)
def test_an_endpoint_that_fails_ends_the_run_resumably(
    story: Story, model: Serve, fault: dict[str, object], hint: str
) -> None:
    """Exit 4 with the endpoint named; the attempt is closed, the task pending, and the run resumes when it is back."""
    story.environ["ORCHESTRATE_MODELS_WORKER_RETRIES"] = "0"
    story.environ["ORCHESTRATE_MODELS_API"] = "chat"  # else a page in HTML is asked over another API
    broken = {"text": "x", "fault": fault}
    model(script(worker("subtract", broken, WRITE, finish(), attempt=1), worker("subtract", WRITE, finish()), review()))
    story.plan(PLAN)

    message = complaint(story.run("execute"), 4)

    assert "127.0.0.1" in message
    assert hint in message
    assert story.ask("MATCH (a:Attempt) RETURN a.status AS s, a.stopReason AS r") == [
        {"s": "failed", "r": "model_error"}
    ]
    story.ok("execute", "--resume")


def test_an_endpoint_that_nobody_serves_is_named(story: Story) -> None:
    """Connection refused: exit 4 and the address."""
    story.use_model("http://127.0.0.1:9/v1")
    story.environ["ORCHESTRATE_MODELS_WORKER_RETRIES"] = "0"
    story.plan(PLAN)
    assert "127.0.0.1:9" in complaint(story.run("execute"), 4)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("fault", [{"hang_s": 30}, {"drip": 1}], ids=["hangs", "drips a byte a second"])
def test_a_request_has_a_total_deadline(story: Story, model: Serve, fault: dict[str, object]) -> None:
    """An endpoint that hangs or drips is given up after the settings' seconds, not after the client's patience."""
    story.environ["ORCHESTRATE_MODELS_WORKER_RETRIES"] = "0"
    story.environ["ORCHESTRATE_MODELS_WORKER_TIMEOUT_S"] = "2"
    model(script(worker("subtract", {"text": "x", "fault": fault}), review()))
    story.plan(PLAN)
    complaint(story.run("execute"), 4)
