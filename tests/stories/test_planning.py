"""The PM's way to a plan: rounds, refusals, and models that do not play along."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.stories.conftest import Serve
from tests.support.scripts import Conversation, call, plan_of, script, task
from tests.support.story import TEST_CALC, Story, complaint, git

TESTS = ["python3 -m unittest -q"]
ROUNDS = (
    "MATCH (p:Plan)-[:PLANNED_IN]->(r) OPTIONAL MATCH (r)-[:TOOK]->(u:Turn) "
    "WITH p, r, count(u) AS turns RETURN p.status AS status, r.number AS number, turns, r.defects AS defects, "
    "r.promptTokens AS tokens ORDER BY number"
)


def asked(key: str, *paths: str, criteria: int = 1, verification: list[str] = TESTS, **more: Any) -> dict[str, Any]:
    """One task as a PM submits it."""
    return {
        "key": key,
        "prompt": f"Do {key}.",
        "files_written": list(paths),
        "acceptance_criteria": [f"{key} criterion {n}" for n in range(criteria)],
        "verification": verification,
        **more,
    }


def plan_with(*tasks: dict[str, Any]) -> dict[str, Any]:
    """The arguments of submit_plan."""
    return {"goal": "Better", "verification": TESTS, "tasks": list(tasks)}


def planner(*replies: dict[str, Any], contains: str = "") -> Conversation:
    """What the PM says in a round (whose assignment contains a text)."""
    return {"when": {"role": "planner", "contains": contains}, "replies": list(replies)}


TOO_MUCH = plan_with(
    asked("all", "a.py", "b.py", criteria=11), asked("hand", "c.py", verification=["Manual test with Postman"])
)
SPLIT = plan_with(
    asked("all.1", "a.py", criteria=5),
    asked("all.2", "b.py", criteria=6, depends_on=["all.1"]),
    asked("hand", "c.py"),
)


def test_refused_tasks_go_back_to_the_pm_who_splits_them(story: Story, model: Serve) -> None:
    """The first round's defects reach the second, whose plan is stored, written out, and can be looked at with its
    rounds."""
    served = model(
        script(
            planner(call("submit_plan", **SPLIT), contains="Manual test with Postman"),
            planner(call("read_file", path="calc.py"), call("submit_plan", **TOO_MUCH)),
        )
    )
    out = story.repository.parent / "out.yaml"

    planned = json.loads(story.ok("plan", "Make it better", "--json", "--out", str(out)))

    assert planned["status"] == "ready"
    assert [(t["key"], t["band"], t["defects"]) for t in planned["tasks"]] == [
        ("all.1", "simple", []),
        ("all.2", "moderate", []),
        ("hand", "simple", []),
    ]
    assert [t["key"] for t in yaml.safe_load(out.read_text())["tasks"]] == ["all.1", "all.2", "hand"]
    assert "limit 7; split it by file. Split into 2 tasks" in served.requests[-1]["messages"][1]["content"]
    first, second = story.ask(ROUNDS)
    assert (first["turns"], second["turns"], second["defects"]) == (2, 1, [])
    assert [defect.split(":")[0] for defect in first["defects"]] == ["all", "hand"]
    assert first["tokens"] > 0
    shown = story.ok("show", planned["planId"])
    assert "planning round 1: 2 turns, 1 call" in shown
    assert "refused: hand: verification[0]: nobody can execute 'Manual test with Postman'" in shown


def test_a_plan_that_stays_refused_is_stored_as_rejected(story: Story, model: Serve) -> None:
    """Three rounds, exit code 3, one JSON document that names each task's defects, and nothing to execute."""
    model(script(planner(call("submit_plan", **TOO_MUCH))))

    done = story.run("plan", "Make it better", "--json")

    assert done.returncode == 3
    planned = json.loads(done.stdout)
    assert planned["status"] == "rejected"
    assert [t["status"] for t in planned["tasks"]] == ["rejected", "rejected"]
    assert "11 criteria" in planned["tasks"][0]["defects"][0]
    assert [row["number"] for row in story.ask(ROUNDS)] == [1, 2, 3]
    assert story.run("execute", planned["planId"]).returncode == 3


@pytest.mark.parametrize(
    ("reply", "defect"),
    [
        (call("read_file", path="calc.py"), "stalled"),
        ({"call": ["submit_plan", "{broken"]}, "malformed_calls"),
        (call("submit_plan", tasks="garbage", nonsense=1), "tasks: must be a list, is 'garbage'"),
        (
            call("submit_plan", **plan_with(asked("a", "a.py", override="I promise"))),
            "a, override: is for a person to set",
        ),
    ],
    ids=["reads for ever", "broken JSON", "garbage", "bounds of its own"],
)
def test_a_pm_that_gives_no_plan_is_bounded(story: Story, model: Serve, reply: dict[str, Any], defect: str) -> None:
    """Each round ends by a guard or by what is wrong with the plan; the error names it and says where to look."""
    model(script(planner(reply)))

    done = story.run("plan", "Make it better")

    assert done.returncode == 3
    assert "no usable plan in 3 rounds" in done.stderr
    assert defect in done.stderr.split("Error:")[1]
    rounds = story.ask(ROUNDS)
    assert [(row["status"], row["number"]) for row in rounds] == [("rejected", 1), ("rejected", 2), ("rejected", 3)]
    assert all(defect in " ".join(row["defects"]) for row in rounds)
    plan_id = done.stderr.split("orchestrate show ")[1].split("`")[0]
    shown = story.ok("show", plan_id)
    assert defect in shown
    assert shown.count(reply.get("text") or str(reply["call"][0])) >= 3, "what the PM said in each round"


def test_a_pm_that_calls_no_tool_in_two_rounds_is_not_asked_in_a_third(story: Story, model: Serve) -> None:
    """Asked once more in each round it still only talks: one error, which names what to try."""
    served = model(script(planner({"text": "It looks fine as it is."})))

    done = story.run("plan", "Make it better")

    assert done.returncode == 3
    assert "called no tool in 2 rounds" in done.stderr
    assert 'tools = "json" in [models.planner]' in done.stderr
    assert len(served.requests) == 2 * 2, "a round has one repair turn"
    rounds = story.ask(ROUNDS)
    assert [(row["status"], row["number"]) for row in rounds] == [("rejected", 1), ("rejected", 2)]
    assert all("no_action" in row["defects"][0] for row in rounds)


def test_a_dry_run_takes_json_from_the_text_and_stores_nothing(story: Story, model: Serve) -> None:
    """A PM that writes its plan into its text is understood; --dry-run shows the plan and the graph stays empty."""
    model(script(planner({"text": f"Here it is:\n```json\n{json.dumps(SPLIT)}\n```"})))

    planned = json.loads(story.ok("plan", "Make it better", "--json", "--dry-run"))

    assert [t["key"] for t in planned["tasks"]] == ["all.1", "all.2", "hand"]
    assert story.ask("MATCH (n:Plan|PlanningRound|Task|Turn) RETURN count(n) AS n") == [{"n": 0}]


def test_a_dry_run_without_a_plan_names_no_stored_one(story: Story, model: Serve) -> None:
    """Where nothing was stored, the error does not send to `show`."""
    model(script(planner(call("submit_plan", tasks=7))))

    done = story.run("plan", "Make it better", "--dry-run")

    assert done.returncode == 3
    assert "orchestrate show" not in done.stderr


def test_a_program_that_commands_do_not_find_refuses_the_plan(story: Story) -> None:
    """A word that is no program costs no attempt: its place in the file, its name, where it was looked for and the way
    out are told at once, beside what is found; and again before an execution of a plan that was made elsewhere."""
    verification = "python3 -m unittest -q && no-such-later"
    plan = plan_of(task("subtract", more="    verification: [no-such-tool --all]\n"), verification=verification)
    path = story.repository.parent / "plan.yaml"
    path.write_text(plan)

    said = story.run("plan", "--file", str(path))

    assert said.returncode == 3
    assert "subtract: verification[0]: 'no-such-tool --all' needs 'no-such-tool'" in said.stderr
    assert "Looked at: /" in said.stderr and "sandbox.read_paths" in said.stderr and "no-such-later" not in said.stderr
    story.environ["ORCHESTRATE_WORKSPACE_PREPARE"] = '["true"]'
    story.plan(plan)  # what is prepared may make it
    del story.environ["ORCHESTRATE_WORKSPACE_PREPARE"]
    assert "needs 'no-such-tool'" in complaint(story.run("execute", "--dry-run"), 3)


def test_the_pm_is_told_what_fails_before_any_work(story: Story, model: Serve) -> None:
    """The settings' commands run once in a clean worktree, whatever lies in the checkout: what they show is in the
    first words to the PM, and is remembered, for the next plan too."""
    (story.repository / "test_old.py").write_text(TEST_CALC.replace("5)", "6)"))
    git(story.repository, "add", "-A")
    git(story.repository, "commit", "-qm", "A test that fails")
    (story.repository / "test_old.py").write_text("")
    story.environ["ORCHESTRATE_CHECKS_COMMANDS"] = '["python3 -m unittest -v"]'
    served = model(script(planner(call("submit_plan", **plan_with(asked("all", "a.py"))))))

    for _ in range(2):
        story.ok("plan", "Make it better")

    for request in served.requests:
        told = request["messages"][1]["content"]
        assert "test_old.Add.test_add: AssertionError: 5 != 6 (`python3 -m unittest -v`)" in told
    assert len(list((story.home / "measured").glob("*.json"))) == 1
    assert list((story.home / "worktrees").iterdir()) == []
