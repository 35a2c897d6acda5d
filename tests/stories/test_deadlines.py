"""Deadlines: what counts for one, what one ends, and the turn that is left to finish."""

from __future__ import annotations

import pytest

from tests.stories.conftest import Serve
from tests.support.processes import kill, wait_until
from tests.support.scripts import SUB, call, finish, plan_of, review, script, slowly, task, worker
from tests.support.story import Story, guard_verdicts, withheld_turns

WRITE = call("write_file", path="calc.py", file_text=SUB)
READ = call("read_file", path="calc.py")


def test_a_runs_deadline_is_not_refilled_by_a_restart(story: Story, model: Serve) -> None:
    """What an earlier process worked counts for --deadline, the time between the two does not."""
    steps = [slowly(READ, 2_500), slowly(READ, 20_000)]
    served = model(script(worker("subtract", *steps, attempt=1), worker("subtract", WRITE, finish()), review()))
    story.plan(plan_of(task("subtract"), verification="true"))
    process = story.start("execute")
    wait_until(lambda: len(served.requests) == 2)
    kill(process)

    done = story.run("execute", "--resume", "--deadline", "2s")
    assert done.returncode == 1, done.stderr
    assert "--deadline" in done.stderr
    assert len(served.requests) == 2
    story.ok("execute", "--resume", "--deadline", "10m")


SLEEPS = {"calls": [call("run_command", command=f"sleep 60; echo slept {n}")["call"] for n in range(6)]}


DEADLINES = {
    "attempt": ({"ORCHESTRATE_GUARDS_DEADLINE_S": "3"}, ()),
    "task": ({"ORCHESTRATE_RUN_TASK_DEADLINE_S": "3"}, ()),
    "task's work": ({"ORCHESTRATE_RUN_TASK_WORKING_TIME_S": "3"}, ()),
    "run's work": ({"ORCHESTRATE_RUN_WORKING_TIME_S": "3"}, ()),
    "run": ({}, ("--deadline", "3s")),
}


@pytest.mark.parametrize("level", DEADLINES)
def test_no_call_begins_behind_a_deadline_and_no_command_outlives_it(story: Story, model: Serve, level: str) -> None:
    """One reply with six commands of a minute under three seconds: what runs at the deadline is ended and says why, the
    others are refused."""
    environ, flags = DEADLINES[level]
    story.environ.update(environ, ORCHESTRATE_RUN_MAX_STOPPED_ATTEMPTS="1")
    model(script(worker("subtract", SLEEPS, WRITE, finish()), review()))
    story.plan(plan_of(task("subtract"), verification="true"))  # so that the baseline takes no part of the bound

    done = story.run("execute", *flags)

    assert done.returncode == 1, done.stderr
    rows = story.ask("MATCH (c:ToolCall) RETURN c.status AS s, c.result AS r, c.durationMs AS ms ORDER BY c.seq")
    assert [row["s"] for row in rows] == ["error", *["refused"] * 5]
    assert "deadline" in rows[0]["r"]
    assert rows[0]["ms"] < 60_000
    guard, of_level = ("deadline", "") if level == "attempt" else ("ledger", level.partition("'")[0])
    assert guard_verdicts(story, guard, of_level)[-1] == ("stop", "deadline")


def test_a_deadline_grants_one_turn_to_finish(story: Story, model: Serve) -> None:
    """A turn as long as the last one would end behind --deadline, so this one has its tools withheld.
    Each wait is shorter than the one before, so that a turn takes no longer than the last on a busy machine too."""
    naps = (3, 2.5, 2, 1.5, *[1] * 16)
    waits = [call("run_command", command=f"sleep {nap}; echo {n}") for n, nap in enumerate(naps)]
    model(script(worker("subtract", *waits), review()))
    story.plan(plan_of(task("subtract", more="    tool_call_budget: 60\n"), verification="true"))

    done = story.run("execute", "--deadline", "7s")

    assert done.returncode == 1, done.stderr
    withheld = withheld_turns(story)
    assert withheld == [False] * (len(withheld) - 1) + [True]
    assert guard_verdicts(story, "ledger", "run")[-1] == ("stop", "deadline")
    assert story.ask("MATCH (a:Attempt) RETURN a.status AS s, a.stopReason AS r") == [
        {"s": "interrupted", "r": "deadline"}
    ]
