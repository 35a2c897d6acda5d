"""The graph tells why: what an attempt's node and its task's say of an end, and who is told it next."""

from __future__ import annotations

import json
from typing import Any

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, plan_of, review, script, task, worker
from tests.support.story import Story

WRITE = call("write_file", path="calc.py", file_text=SUB)
HEADING = {
    "code": "heading",
    "severity": "error",
    "message": "The heading is missing.",
    "locus": "calc.py",
    "required_fix": "Add a heading.",
}


def told(story: Story, label: str = "Attempt") -> list[dict[str, Any]]:
    """What each attempt, or each task, says of why it was not accepted, the oldest first."""
    rows = story.ask("MATCH (n) WHERE $label IN labels(n) RETURN n.errorContextJson AS e ORDER BY n.id", label=label)
    return [json.loads(row["e"]) for row in rows]


def test_an_attempt_and_its_task_tell_of_a_failed_check(story: Story, model: Serve) -> None:
    """Which command failed, with what output, against which findings; the task has the latest, and an accepted attempt
    leaves nothing."""
    wrong = call("write_file", path="calc.py", file_text="def add(a, b):\n    return 0\n")
    model(script(worker("subtract", wrong, finish(), attempt=1), worker("subtract", WRITE, finish()), review()))
    story.plan(plan_of(task("subtract", more="    max_attempts: 1\n")))
    assert story.run("execute").returncode == 1

    (found,) = told(story)
    assert told(story, "Task") == [found]
    assert (found["stopReason"], found["guard"], found["qcFeedback"]) == ("gate_failed", None, None)
    (failed,) = found["failedChecks"]
    assert (failed["command"], failed["exitCode"]) == ("python3 -m unittest -q", 1)
    assert "AssertionError: 0 != 5" in failed["tail"]
    (node,) = story.ask("MATCH (a:Attempt) RETURN a.issues AS issues, a.requiredFixes AS fixes")
    assert (node["issues"], node["fixes"]) == (found["issues"], found["requiredFixes"])
    (row,) = story.ask("MATCH (t:Task) RETURN t.id AS id")
    assert found["next"] == [f"orchestrate retry {row['id']}"]
    assert found["advice"] and found["issues"] == ["test_calc.Add.test_add: AssertionError: 0 != 5"]

    story.ok(*found["next"][0].split()[1:])
    story.ok("execute")
    assert told(story) == [found, {}]
    assert told(story, "Task") == [{}]


def test_a_bound_of_the_task_that_qc_reaches_stops_the_attempt(story: Story, model: Serve) -> None:
    """QC's request does not fit what the task may use: that bound ended the attempt, not QC, and no third party is to
    look at. It counts as every stop by a bound does."""
    for role in ("WORKER", "VERIFIER"):
        story.environ[f"ORCHESTRATE_MODELS_{role}_MAX_OUTPUT_TOKENS"] = "300"
    story.environ.update(ORCHESTRATE_RUN_TASK_MAX_TOKENS="9000", ORCHESTRATE_RUN_MAX_STOPPED_ATTEMPTS="1")
    large = call("run_command", command="head -c 30000 /dev/urandom | base64 -w 0 > large.txt")  # is in QC's diff
    served = model(script(worker("large", large, finish()), review()))
    story.plan(plan_of(task("large", writes=["large.txt"])))

    assert story.run("execute").returncode == 1

    assert len(served.requests) == 2, "QC was never sent what did not fit"
    (row,) = story.ask(
        "MATCH (t:Task)-[:HAS_ATTEMPT]->(a) RETURN a.status AS a, a.stopReason AS r, t.status AS t, t.stopReason AS why"
    )
    assert row == {"a": "stopped", "r": "token_limit", "t": "failed", "why": "stops_exhausted"}
    (found,) = told(story)
    assert (found["guard"]["name"], found["guard"]["code"], found["guard"]["firstSeq"]) == (
        "ledger", "token_limit", None,
    )  # fmt: skip
    assert found["guard"]["observed"] > found["guard"]["limit"] == 9_000
    assert found["guard"]["evidence"]["level"] == "task"
    assert found["failedChecks"] == [] and found["requiredFixes"]


def test_what_qc_said_in_answers_that_were_no_verdict_is_kept(story: Story, model: Serve) -> None:
    """An answer without a score, then none at all: its findings and feedback are the attempt's, and the next worker is
    told them beside what the review found that counted."""
    said = call("submit_review", passed=False, feedback="Not yet.", findings=[HEADING])
    first_go = {"role": "verifier", "attempt": 1}
    broken = {"when": first_go, "replies": [said]}
    again = {"when": first_go | {"contains": "did not count"}, "replies": [{"text": "Hm."}]}
    other = HEADING | {"message": "The footer is missing.", "required_fix": "Add a footer."}
    served = model(
        script(
            worker("subtract", call("write_file", path="calc.py", file_text=f"{SUB}\n# footer\n"), finish(), attempt=3),
            worker("subtract", WRITE, finish()),
            again,
            broken,
            review(False, 40, attempt=2, feedback="No footer.", findings=[other]),
            review(),
        )
    )
    story.plan(plan_of(task("subtract")))

    story.ok("execute")

    first, second, third = told(story)
    assert first["stopReason"] == "review_error"
    assert first["qcFeedback"] == "Not yet."
    assert first["issues"][1:] == [HEADING["message"]]
    assert HEADING["required_fix"] in first["requiredFixes"]
    assert (first["guard"]["name"], first["guard"]["firstSeq"]) == ("no_action", None)
    assert (second["stopReason"], second["qcFeedback"], third) == ("review_failed", "No footer.", {})
    assignment = next(text for b in served.requests if "Attempt: 3" in (text := str(b["messages"][1]["content"])))
    assert HEADING["message"] in assignment and other["message"] in assignment
