"""Checks know the bounds that the worker's commands know, and see what a worker may declare."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, plan_of, review, script, task, worker
from tests.support.story import Story, attempts

WRITE = call("write_file", path="calc.py", file_text=SUB)
SLEEPS = "    verification: ['sleep 12']\n"


def _assert_cut(story: Story, level: str) -> None:
    """One check, ended by the bound of that level, which is recorded; nothing is held against the work."""
    checks = story.ask(
        "MATCH (:Attempt)-[:CHECKED_BY]->(c) "
        "RETURN c.outcome AS outcome, c.durationMs < 11000 AS cut, c.output AS output"
    )
    assert [(check["outcome"], check["cut"]) for check in checks] == [("infrastructure", True)]
    assert "[timeout:" in checks[0]["output"]
    assert story.ask("MATCH (f:Finding) RETURN f.code AS code") == []
    [said] = story.ask("MATCH (g:GuardEvent {verdict: 'stop'}) RETURN g.code AS code, g.evidenceJson AS evidence")
    assert (said["code"], json.loads(said["evidence"])["level"]) == ("deadline", level)


def test_no_check_outlives_the_attempts_deadline_and_what_it_cuts_is_no_failed_check(
    story: Story, model: Serve
) -> None:
    """The bound stops the attempt, as it would have in the worker's own command; the check is not run again."""
    bounds = {"ORCHESTRATE_GUARDS_DEADLINE_S": "8", "ORCHESTRATE_RUN_MAX_STOPPED_ATTEMPTS": "1"}
    story.environ.update(bounds)
    model(script(worker("subtract", WRITE, finish()), review()))
    story.plan(plan_of(task("subtract", more=SLEEPS), verification="true"))

    done = story.run("execute")

    assert done.returncode == 1, done.stderr
    assert attempts(story) == [(1, "stopped", "deadline")]
    _assert_cut(story, "attempt")


def test_the_runs_deadline_cuts_a_check_and_the_work_goes_on_under_a_higher_one(story: Story, model: Serve) -> None:
    """The run's bound is not the task's fault: what was handed in is checked again, and the worker is not asked."""
    served = model(script(worker("subtract", WRITE, finish()), review()))
    story.plan(plan_of(task("subtract", more=SLEEPS), verification="true"))

    done = story.run("execute", "--deadline", "8s")

    assert done.returncode == 1, done.stderr
    assert attempts(story) == [(1, "interrupted", "deadline")]
    _assert_cut(story, "run")
    asked = len(served.requests)
    story.ok("execute", "--resume", "--deadline", "10m")
    assert attempts(story)[1:] == [(2, "accepted", "accepted")]
    assert len(served.requests) == asked + 1


def test_a_declared_output_of_any_kind_is_seen(story: Story, model: Serve) -> None:
    """Whether it is there is asked of the file system: a symlink, and a file that no tool would read whole, are."""
    makes = call("run_command", command="ln -s calc.py link.py && truncate -s 33000000 big.bin")
    model(script(worker("outputs", makes, finish()), review()))
    story.plan(plan_of(task("outputs", writes=["link.py", "big.bin"]), verification="true"))

    story.ok("execute")

    assert attempts(story) == [(1, "accepted", "accepted")]


def test_commands_of_a_pass_run_at_once_where_that_is_set(story: Story, model: Serve) -> None:
    """Each on a checkout of its own: what the first makes the second does not find, and which one fails is told
    whichever ends first."""
    commands = ("sleep 3 && touch made", "sleep 2 && test ! -e made", "test ! -e bad.txt")
    story.environ["ORCHESTRATE_CHECKS_PARALLEL"] = "3"
    bad = call("write_file", path="bad.txt", file_text="x")
    model(script(worker("bad", bad, finish()), review()))
    plan = plan_of(task("bad", writes=["bad.txt"], more="    max_attempts: 1\n"))
    story.plan(plan.replace("'python3 -m unittest -q'", ", ".join(map(repr, commands))))

    assert story.run("execute").returncode == 1

    rows = story.ask(
        "MATCH (:Attempt)-[:CHECKED_BY]->(c:Check) WHERE c.phase = 'verification' "
        "RETURN c.command AS command, c.outcome AS outcome, c.startedAt AS at, c.durationMs AS ms ORDER BY c.id"
    )
    assert [(row["command"], row["outcome"]) for row in rows] == list(
        zip(commands, ("passed", "passed", "failed"), strict=True)
    )
    begun = [datetime.fromisoformat(row["at"]) for row in rows[:2]]
    ended = [at + timedelta(milliseconds=row["ms"]) for at, row in zip(begun, rows, strict=False)]
    assert max(begun) < min(ended)
    assert story.ask("MATCH (f:Finding {code: 'check_failed'}) RETURN f.locus AS locus") != []
