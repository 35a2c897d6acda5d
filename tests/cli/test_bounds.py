"""Bounds that a person's file sets wider are told wherever the plan is shown."""

from __future__ import annotations

import json

from agents.scripted.server import serve
from tests.support.scripts import call, plan_of, script, task, worker
from tests.support.story import Story

WIDER = "a: wider bounds: tool_call_budget is 200, a simple task's is 20; max_attempts is 9, the default is 6"
BOUNDS = "    tool_call_budget: 200\n    max_attempts: 9\n"


def test_every_screen_names_a_wider_bound_with_its_reason(fresh: Story) -> None:
    """The plan's table, the dry run, status and show, of the plan and of the task; machine output has it too. Who gave
    no reason is told so; a task within its bounds is not mentioned."""
    path = fresh.repository.parent / "plan.yaml"
    path.write_text(plan_of(task("a", more=f"{BOUNDS}    override: Old code.\n"), task("b", writes=["b.py"])))
    screens = [fresh.ok("plan", "--file", str(path))]
    plan_id = json.loads(fresh.ok("status", "--json"))["planId"]
    screens += [
        fresh.ok(*command) for command in (["execute", "--dry-run"], ["status"], ["show", "a"], ["show", plan_id])
    ]
    for screen in screens:
        assert f"{WIDER} (reason: Old code.)" in screen
        assert "b: wider" not in screen
    loosened = WIDER.removeprefix("a: wider bounds: ").split("; ")
    planned, status = json.loads(fresh.ok("execute", "--dry-run", "--json")), json.loads(fresh.ok("status", "--json"))
    assert planned["loosened"] == {"a": loosened}
    assert status["tasks"][0]["loosened"] == loosened
    path.write_text(plan_of(task("a", more=BOUNDS)))
    assert f"{WIDER} (no reason is given)" in fresh.ok("plan", "--file", str(path), "--dry-run")


def test_a_run_and_its_attempts_name_it_too(fresh: Story) -> None:
    """Before the run begins, in the run, and in the attempt's story."""
    fresh.plan(plan_of(task("a", more="    tool_call_budget: 200\n    max_attempts: 1\n    override: Old code.\n")))
    with serve(script(worker("a", call("give_up", reason="It cannot be done.")))) as served:
        fresh.use_model(served.base_url)
        done = fresh.run("execute", "--deadline", "1h")
    run = json.loads(fresh.ok("status", "--json"))["run"]["runId"]
    for screen in (done.stderr, fresh.ok("show", run), fresh.ok("show")):
        assert f"{WIDER.partition(';')[0]} (reason: Old code.)" in screen
