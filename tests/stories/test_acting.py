"""Acting on tasks: a bound's end is not repeated unasked, a person retries and cancels, and touches nothing else."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from tests.stories.conftest import Serve
from tests.support.processes import wait_until
from tests.support.scripts import SUB, call, finish, plan_of, review, script, slowly, task, worker
from tests.support.story import Story, attempts, git

WRITE = call("write_file", path="calc.py", file_text=SUB)
READ = call("read_file", path="calc.py")
LEFT_OUT = re.compile(r"^subtract is left out: .*: orchestrate (.+)$", re.MULTILINE)
OF_TASKS = "MATCH (t:Task) RETURN t.key AS key, t.status AS status, t.stopReason AS why ORDER BY key"


def _told(served: Any, attempt: int) -> str:
    """What the worker of an attempt was told at its beginning."""
    beginnings = (str(body["messages"][1]["content"]) for body in served.requests)
    return next(text for text in beginnings if f"Attempt: {attempt}\n" in text)


def test_a_task_that_a_bound_ended_waits_for_a_change(story: Story, model: Serve) -> None:
    """What was repeated is told to the next attempt. The ended task is left out of the next execute, which says so with
    a command that works when it is pasted: the retry's note reaches the worker, in the run that had failed."""
    spirals = [worker("subtract", READ, attempt=number) for number in (1, 2)]
    served = model(script(*spirals, worker("subtract", WRITE, finish(), attempt=3), review()))
    story.plan(plan_of(task("subtract"), task("after", writes=["a.txt"], after=["subtract"])))
    first = story.run("execute")
    assert first.returncode == 1
    assert [status for _, status, _ in attempts(story)] == ["stopped", "stopped"]
    assert 'times: read_file {"path": "calc.py"} -> calc.py, 3 lines:' in _told(served, 2)

    again = story.run("execute")

    assert again.returncode == 1
    found = LEFT_OUT.search(again.stderr)
    assert found is not None, again.stderr
    assert "subtract is left out" in story.run("execute", "--dry-run").stderr
    assert len(attempts(story)) == 2
    assert [row["status"] for row in story.ask(OF_TASKS)] == ["blocked", "failed"]
    assert story.ask("MATCH (r:Run) RETURN r.status AS s") == [{"s": "failed"}]

    command = shlex.split(found[1])
    assert command[:3] == ["retry", "subtract", "--note"]
    story.ok(*command)
    story.ok("execute", "--task", "subtract")

    assert command[3] in _told(served, 3)
    assert attempts(story)[-1][1] == "accepted"
    assert "+def subtract(a, b):" in story.ok("diff", "subtract")
    (run,) = json.loads(story.ok("list", "runs", "--json"))
    assert (run["attempts"], run["status"]) == (3, "interrupted")
    assert "+def subtract(a, b):" in story.ok("diff", run["run"])
    assert run["plan"] in story.ok("list")


def test_a_changed_budget_is_a_change(story: Story, model: Serve) -> None:
    """A task that was stopped is tried again by the next execute when a limit of its attempts is another one."""
    model(script(worker("subtract", READ, attempt=1), worker("subtract", WRITE, finish(), attempt=2), review()))
    story.environ["ORCHESTRATE_RUN_MAX_STOPPED_ATTEMPTS"] = "1"
    story.plan(plan_of(task("subtract")))
    assert story.run("execute").returncode == 1

    story.environ["ORCHESTRATE_GUARDS_STALL_BATCHES"] = "4"
    story.ok("execute")

    assert [status for _, status, _ in attempts(story)] == ["stopped", "accepted"]


def test_execute_of_one_task_touches_no_other(story: Story, model: Serve) -> None:
    """Other failed tasks keep status and reason, and the run about that task alone is over when it is."""
    note = call("write_file", path="a.txt", file_text="a")
    model(
        script(
            worker("subtract", call("give_up", reason="I cannot."), attempt=1),
            worker("subtract", WRITE, finish()),
            worker("other", call("give_up", reason="Neither can I.")),
            worker("third", note, finish()),
            review(),
        )
    )
    once = "    max_attempts: 1\n"
    story.plan(
        plan_of(
            task("subtract", more=once), task("other", writes=["b.txt"], more=once), task("third", writes=["a.txt"])
        )
    )
    assert story.run("execute", "--task", "subtract", "--task", "other").returncode == 1
    assert story.ask("MATCH (r:Run) RETURN r.status AS s") == [{"s": "failed"}]

    story.ok("execute", "--task", "subtract")

    assert [(row["key"], row["status"], row["why"]) for row in story.ask(OF_TASKS)] == [
        ("other", "failed", "attempts_exhausted"),
        ("subtract", "completed", "completed"),
        ("third", "pending", None),
    ]
    runs = story.ask("MATCH (r:Run) RETURN r.status AS s, r.keys AS keys ORDER BY r.startedAt")
    assert runs[1] == {"s": "completed", "keys": ["subtract"]}
    assert "completed before" in story.run("execute", "--task", "subtract").stderr
    assert len(story.ask("MATCH (r:Run) RETURN r.id")) == 2


def test_a_task_is_cancelled_from_another_shell(story: Story, model: Serve) -> None:
    """The process that works on it notices: its attempt ends as cancelled, nothing is merged, the other task is done,
    and a retry has it done too."""
    story.environ["ORCHESTRATE_RUN_LEASE_S"] = "5"
    write = call("write_file", path="a.txt", file_text="a")
    served = model(
        script(
            worker("subtract", slowly(READ, 4_000), WRITE, finish(), attempt=1),
            worker("subtract", WRITE, finish()),
            worker("other", write, finish()),
            review(),
        )
    )
    story.plan(plan_of(task("subtract"), task("other", writes=["a.txt"])))

    process = story.start("execute")
    wait_until(lambda: len(served.requests) > 0)
    assert "subtract is cancelled" in story.ok("cancel", "subtract")
    _, err = process.communicate(timeout=60)

    assert process.returncode == 1, err
    assert "subtract #1 cancelled" in err
    assert "Traceback" not in err
    rows = story.ask("MATCH (t:Task)-[:HAS_ATTEMPT]->(a) RETURN t.key AS k, t.status AS s, a.status AS a ORDER BY k")
    assert [tuple(row.values()) for row in rows] == [
        ("other", "completed", "accepted"),
        ("subtract", "cancelled", "cancelled"),
    ]
    story.ok("retry", "subtract")
    story.ok("execute")
    assert int(git(story.repository, "rev-list", "--count", "--branches=orchestrate/*", "^main")) == 2


def test_a_cancelled_run_is_left_by_its_process(story: Story, model: Serve) -> None:
    """The run and its attempt are cancelled at once, and its process ends with 1 and says so."""
    served = model(script(worker("subtract", slowly(READ, 3_000), WRITE, finish()), review()))
    story.plan(plan_of(task("subtract")))

    process = story.start("execute")
    wait_until(lambda: len(served.requests) > 0)
    (run,) = story.ask("MATCH (r:Run) RETURN r.id AS id")
    answer = json.loads(story.ok("cancel", run["id"], "--json"))
    _, err = process.communicate(timeout=60)

    assert answer == {"id": run["id"], "kind": "Run", "status": "cancelled"}
    assert process.returncode == 1, err
    assert f"run {run['id']} cancelled" in err
    assert attempts(story) == [(1, "cancelled", "cancelled")]
    [scope] = (story.home / "artefacts" / "tasks").glob("*/scope.json")  # the task's documents tell of that attempt too
    assert json.loads(scope.read_text())["attempt"].endswith(":1")
    assert story.run("cancel", "nosuch").returncode == 2
