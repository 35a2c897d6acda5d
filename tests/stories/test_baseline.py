"""What was broken before anybody worked, and what that may cost whom."""

from __future__ import annotations

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, plan_of, review, script, shell, task, worker
from tests.support.story import Story, attempts, complaint, git

WRITE = call("write_file", path="calc.py", file_text=SUB)


def commit(story: Story, **files: str) -> None:
    """Commit files (their names without .py) to the story's repository."""
    for name, text in files.items():
        (story.repository / f"{name}.py").write_text(text)
    git(story.repository, "add", "-A")
    git(story.repository, "commit", "-qm", "More")


def test_the_plans_commands_are_measured_once_before_anybody_works(story: Story, model: Serve) -> None:
    """In a clean worktree at the pinned commit, whatever lies in the checkout; the check of each accepted tree is the
    next task's baseline, so the command runs once more than there are tasks. The worktree is gone afterwards."""
    (story.repository / "test_calc.py").write_text("raise SystemExit(1)")
    (story.repository / "test_dirt.py").write_text("raise SystemExit(1)")
    model(script(*(worker(k, call("write_file", path=f"{k}.txt", file_text=k), finish()) for k in "ab"), review()))
    story.plan(plan_of(task("a", writes=["a.txt"]), task("b", writes=["b.txt"], after=["a"])))

    story.ok("execute")

    rows = story.ask("MATCH (c:Check) RETURN c.phase AS phase, c.outcome AS outcome, c.id AS id ORDER BY c.startedAt")
    assert [row["phase"] for row in rows] == ["baseline", "verification", "baseline", "verification"], rows
    assert {row["outcome"] for row in rows} == {"passed"}
    assert len(list((story.home / "measured").glob("*.json"))) == 3
    assert list((story.home / "worktrees").iterdir()) == []
    assert (story.repository / "test_dirt.py").exists()
    measured = story.ask("MATCH (:Run)-[:MEASURED]->(b:Baseline) RETURN count(b) AS n, collect(b.commit) AS commits")
    assert measured[0]["n"] == 2
    assert git(story.repository, "rev-parse", "HEAD") in measured[0]["commits"]


def test_no_worker_is_paid_where_a_command_gives_no_answer_before_any_work(story: Story, model: Serve) -> None:
    """A program that is not there, a hang or a signal: the run ends with the reason, and no model was asked. It goes on
    once that is mended."""
    served = model(script(worker("subtract", WRITE, finish()), review()))
    story.plan(plan_of(task("subtract"), verification="kill -9 $$"))

    said = complaint(story.run("execute"), 3)

    assert "gives no answer before any work" in said and "kill -9" in said
    assert served.requests == []
    assert attempts(story) == [(1, "failed", "baseline_unavailable")]
    assert story.ask("MATCH (t:Task) RETURN t.status AS status") == [{"status": "pending"}]


def test_a_test_that_failed_before_is_not_held_against_three_tasks(story: Story, model: Serve) -> None:
    """All three are completed, and what failed before is told with each; a fourth, which breaks another test beside it,
    is told that one alone; a fifth may change the failing test's file and deletes the test instead: it has vanished."""
    commit(story, test_old=OLD)
    plain = [worker(k, call("write_file", path=f"{k}.txt", file_text=k), finish()) for k in "abc"]
    breaks = shell("printf 'def add(a, b):\n    return 0\n' > calc.py")
    deletes = shell("sed -i '/def test_old/,$d' test_old.py && echo '    pass' >> test_old.py")
    served = model(script(*plain, worker("breaks", breaks, finish()), worker("deletes", deletes, finish()), review()))
    once = "    max_attempts: 1\n"
    tasks = [task(k, writes=[f"{k}.txt"]) for k in "abc"]
    bad = [task("breaks", more=once), task("deletes", writes=["test_old.py"], more=once)]
    story.plan(plan_of(*tasks, *bad, verification="python3 -m unittest -v"))

    assert story.run("execute").returncode == 1

    rows = story.ask(
        "MATCH (t:Task)-[:HAS_ATTEMPT]->(a)-[:FOUND]->(f) RETURN t.key AS key, a.stopReason AS reason, "
        "collect(f.code) AS codes, collect(f.message) AS said ORDER BY key"
    )
    ended = {row["key"]: (row["reason"], sorted(row["codes"])) for row in rows}
    assert {key: ended[key] for key in "abc"} == dict.fromkeys("abc", ("accepted", ["pre_existing"]))
    assert ended["breaks"] == ("gate_failed", ["check_failed", "pre_existing"])
    assert ended["deletes"] == ("gate_failed", ["fixed", "vanished"])
    said = {row["key"]: " ".join(row["said"]) for row in rows}
    assert "test_add" in said["breaks"] and "test_old" in said["deletes"]
    old = story.ask("MATCH (:Attempt {status: 'accepted'})-[:CHECKED_BY]->(c {asBefore: true}) RETURN count(c) AS n")
    assert old == [{"n": 3}]
    worker_told, qc_told = str(served.requests[0]["messages"]), str(served.requests[2]["messages"])
    assert "What failed before this task" in worker_told and "test_old" in worker_told
    assert "only in what failed before this work" in qc_told


def test_a_failing_test_cannot_be_broken_anew_after_it_was_fixed(story: Story, model: Serve) -> None:
    """Task 1 fixes what failed before; task 2, which breaks it again, is told a new failure."""
    commit(story, test_sub=TEST_SUB)
    breaks = shell("printf 'def add(a, b):\\n    return a + b\\n' > calc.py")
    model(script(worker("fix", WRITE, finish()), worker("break", breaks, finish()), review()))
    story.plan(plan_of(task("fix"), task("break", after=["fix"], more="    max_attempts: 1\n")))

    assert story.run("execute").returncode == 1

    rows = story.ask("MATCH (t:Task)-[:HAS_ATTEMPT]->(a) RETURN t.key AS key, a.stopReason AS reason ORDER BY key")
    assert rows == [{"key": "break", "reason": "gate_failed"}, {"key": "fix", "reason": "accepted"}]


def test_what_a_command_needs_is_told_before_the_run_and_allowed_by_nobody_else(story: Story, model: Serve) -> None:
    """A heavy command of full_verification is measured before the work too. Services are named by the dry run; one that
    needs the network refuses the plan where commands do not reach it, and no plan makes them."""
    model(script(worker("subtract", WRITE, finish()), review()))
    heavy = "{command: python3 -m unittest -v test_calc, heavy: true, services: [postgres on 5432]}"
    plan = plan_of(task("subtract"), verification="true") + f"full_verification: [{heavy}]\n"
    needs = plan.replace("heavy: true", "network: true")
    (story.repository.parent / "needs.yaml").write_text(needs)

    said = complaint(story.run("plan", "--file", str(story.repository.parent / "needs.yaml")), 3)
    assert "'python3 -m unittest -v test_calc' is declared to need the network" in said and "sandbox.network" in said
    story.plan(plan)
    assert "test_calc: run before the work too; needs postgres on 5432\n" in story.ok("execute", "--dry-run")
    story.ok("execute")

    rows = story.ask("MATCH (:Baseline)-[:CHECKED_BY]->(c) RETURN c.command AS command ORDER BY command")
    assert [row["command"] for row in rows] == ["python3 -m unittest -v test_calc", "true"]
    story.environ["ORCHESTRATE_SANDBOX_NETWORK"] = "true"
    assert story.plan(needs)["checks"][0]["network"] is True
    del story.environ["ORCHESTRATE_SANDBOX_NETWORK"]
    assert "declared to need the network" in complaint(story.run("execute"), 3)


OLD = """import unittest


class Old(unittest.TestCase):
    def test_new(self):
        self.assertTrue(True)

    def test_old(self):
        self.assertEqual(1, 2)
"""
TEST_SUB = """import unittest

import calc


class Subtract(unittest.TestCase):
    def test_subtract(self):
        self.assertEqual(calc.subtract(5, 3), 2)
"""


def test_a_command_that_finds_no_test_is_told_before_a_worker_is_paid(story: Story, model: Serve) -> None:
    """It holds against nothing, whatever the work is: the first line about it says so, and each attempt's findings."""
    commit(story, checks="print('Ran 0 tests in 0.000s')\n")
    model(script(worker("a", call("write_file", path="a.txt", file_text="a"), finish()), review()))
    story.plan(plan_of(task("a", writes=["a.txt"]), verification="python3 checks.py"))

    done = story.run("execute")

    assert done.returncode == 0, done.stderr
    [before] = [line for line in done.stderr.splitlines() if "(baseline, " in line and "check passed" in line]
    assert before.endswith("exit 0, it finds no test)")
    assert story.ask("MATCH (:Attempt)-[:FOUND]->(f) RETURN f.code AS code, f.severity AS severity") == [
        {"code": "no_tests", "severity": "warning"}
    ]
    for told in (story.ok("show", "a"), story.ok("report")):
        assert "ccepted all the same" in told and "passes and finds no test" in told
