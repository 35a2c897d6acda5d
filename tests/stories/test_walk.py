"""The whole walk: a plan, its execution, the branch, and the facts in the graph."""

from __future__ import annotations

import json

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, met, plan_of, review, script, task, worker
from tests.support.story import Story, git

WRONG = call("write_file", path="calc.py", file_text="def add(a, b):\n    return 0\n")
OUTSIDE = call("run_command", command="echo hello > other.txt; echo '# x' >> test_calc.py")
WRITE = call("write_file", path="calc.py", file_text=SUB)


def test_a_plan_is_executed_reviewed_and_delivered_as_a_branch(story: Story, model: Serve) -> None:
    """Three tasks, one after a failed review, end as three commits on the run's branch; the checkout is untouched."""
    model(
        script(
            worker("subtract", call("read_file", path="calc.py"), WRITE, finish("Added subtract.")),
            worker("notes", call("write_file", path="NOTES.md", file_text="Notes\n"), finish(), attempt=1),
            worker("notes", call("write_file", path="NOTES.md", file_text="# Notes\n"), finish(), attempt=2),
            worker("tests", call("write_file", path="test_sub.py", file_text=TEST_SUB), finish()),
            review(False, 40, "notes", 1, feedback="No heading.", findings=[HEADING]),
            review(),
        )
    )
    story.plan(
        plan_of(
            task("subtract"),
            task("notes", writes=["NOTES.md"]),
            task("tests", writes=["test_sub.py"], after=["subtract"]),
        )
    )

    done = story.run("execute", "--json")

    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["status"] == "completed"
    assert {t["key"]: (t["status"], t["attempts"]) for t in answer["tasks"]} == {
        "subtract": ("completed", 1),
        "notes": ("completed", 2),
        "tests": ("completed", 1),
    }
    assert story.ok("show").startswith(f"run {answer['runId']}  completed"), "after success the run is told"
    assert git(story.repository, "status", "--porcelain") == ""
    assert git(story.repository, "rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert git(story.repository, "show", f"{answer['branch']}:NOTES.md") == "# Notes"
    assert int(git(story.repository, "rev-list", "--count", f"main..{answer['branch']}")) == 3
    trailers = git(story.repository, "log", "-1", "--format=%(trailers)", answer["branch"])
    assert f"Orchestrate-Run: {answer['runId']}" in trailers
    rows = story.ask(
        "MATCH (t:Task {key: 'notes'})-[:HAS_ATTEMPT]->(a) RETURN a.number AS n, a.status AS s, a.stopReason AS r, "
        "a.toolCallCount AS calls ORDER BY n"
    )
    assert [(r["n"], r["s"], r["r"], r["calls"]) for r in rows] == [
        (1, "rejected", "review_failed", 1),
        (2, "accepted", "accepted", 1),
    ]


def test_a_rejected_attempts_findings_are_in_the_next_assignment(story: Story, model: Serve) -> None:
    """What failed, what is to be fixed and the evidence reach the next attempt's worker."""
    served = model(
        script(
            worker("subtract", WRONG, finish(), attempt=1),
            worker("subtract", WRITE, finish(), attempt=2),
            review(),
        )
    )  # fmt: skip
    story.plan(plan_of(task("subtract")))

    story.ok("execute")

    second = next(b for b in served.requests if "Attempt: 2" in json.dumps(b["messages"][1]))
    told = json.dumps(second["messages"][1])
    assert "check_failed" in told or "exited with 1" in told
    assert "python3 -m unittest -q" in told
    assert "AssertionError" in told


def test_a_pass_that_judges_not_all_is_asked_for_again_with_what_it_lacked(story: Story, model: Serve) -> None:
    """Edge cases and verification criteria count like acceptance criteria; QC is told what its first answer left out,
    and the second one decides."""
    bounds = "    max_attempts: 1\n    acceptance_criteria: ['5 - 3 is 2']\n    edge_cases: ['3 - 5 is -2']\n"
    more = f"{bounds}    verification_criteria: {{security: ['It opens no file']}}\n"
    each = [*map(met, ("5 - 3 is 2", "3 - 5 is -2")), met("security: It opens no file", text="I read calc.py.")]
    again = review(criteria=each)
    again["when"]["contains"] = "Criterion that was not judged: 3 - 5 is -2"
    served = model(script(worker("subtract", WRITE, finish()), again, review(score=97, criteria=each[:1])))
    story.plan(plan_of(task("subtract", more=more)))

    story.ok("execute")

    rows = story.ask("MATCH (:Attempt)-[:REVIEWED_BY]->(v) RETURN v.passed AS passed ORDER BY v.id")
    assert [row["passed"] for row in rows] == [None, True]
    assert "- Criterion that was not judged: It opens no file" in json.dumps(served.requests[-1]["messages"][1])


def test_a_task_that_ran_out_tells_every_attempt_and_promises_no_further_one(story: Story, model: Serve) -> None:
    """The diagnosis holds the last attempt too and says what to do with the task, as show does."""
    model(script(worker("subtract", WRONG, finish()), review()))
    story.plan(plan_of(task("subtract", more="    max_attempts: 2\n")))

    assert story.run("execute").returncode == 1

    (found,) = story.ask(
        "MATCH (:Task)-[:DIAGNOSED_AS]->(d) RETURN d.attempts AS attempts, d.tried AS tried, d.actions AS actions, "
        "d.byModel AS told"
    )
    assert found["told"] is False, "nobody plays the reporter here: what is recorded is told all the same"
    assert found["attempts"] == 2
    assert [line.partition(".")[0] for line in found["tried"]] == [
        f"attempt {number}: rejected, gate_failed" for number in (1, 2)
    ]
    assert len(found["actions"]) == 1
    for shown in (story.ok("show"), story.ok("show", "subtract")):
        assert "split the task" in shown
        assert "next attempt" not in shown


def test_what_git_ignores_makes_no_check_pass(story: Story, model: Serve) -> None:
    """Checks see a fresh checkout of the snapshot, so a file that is not delivered cannot help them."""
    (story.repository / ".gitignore").write_text("*.local\n")
    git(story.repository, "add", "-A")
    git(story.repository, "commit", "-qm", "Ignore local files")
    helps = call("run_command", command="touch ready.local && test -f ready.local")
    model(script(worker("subtract", WRITE, helps, finish("It passes here.")), review()))
    story.plan(plan_of(task("subtract", more="    max_attempts: 1\n"), verification="test -f ready.local"))

    done = story.run("execute", "--json")

    assert done.returncode == 1, done.stderr
    rows = story.ask(
        "MATCH (u:ToolCall {tool: 'run_command'})<-[:CALLED]-()<-[:TOOK]-(a:Attempt)-[:CHECKED_BY]->(c) "
        "RETURN u.status AS inside, a.stopReason AS reason, c.exitCode AS exit"
    )
    assert rows == [{"inside": "ok", "reason": "gate_failed", "exit": 1}]


def test_work_outside_the_allowed_paths_is_refused_and_shell_writes_are_found(story: Story, model: Serve) -> None:
    """A file tool may not write elsewhere, and what a command writes elsewhere rejects the attempt."""
    model(
        script(
            worker("subtract", call("write_file", path="sub/setup.cfg", file_text="x"), WRITE,
                   OUTSIDE, finish(), attempt=1),
            worker("subtract", call("run_command", command="rm other.txt; git checkout test_calc.py || true"),
                   call("write_file", path="test_calc.py", file_text="x"),
                   call("run_command", command="git show HEAD:test_calc.py > test_calc.py"), finish()),
            review(),
        )
    )  # fmt: skip
    story.plan(plan_of(task("subtract")))

    story.ok("execute")

    refused = story.ask("MATCH (c:ToolCall {status: 'refused'}) RETURN c.tool AS tool, c.result AS result")
    assert {row["tool"] for row in refused} == {"write_file"}
    assert "calc.py" in refused[0]["result"]
    findings = story.ask("MATCH (:Attempt {number: 1})-[:FOUND]->(f) RETURN f.code AS code, f.locus AS locus")
    assert {row["code"] for row in findings} == {"out_of_scope", "protected_file"}
    assert {row["locus"] for row in findings} == {"test_calc.py"}


def test_a_part_of_a_plan_is_a_run_of_its_own(story: Story, model: Serve) -> None:
    """--task does that task alone in a run that is over then, the rest is done in another one on top of it; then
    nothing is left, however often one asks."""
    model(script(*(worker(k, call("write_file", path=f"{k}.txt", file_text=k), finish()) for k in "ab"), review()))
    story.plan(plan_of(task("a", writes=["a.txt"]), task("b", writes=["b.txt"])))

    assert "The run is open" not in story.ok("execute", "--task", "a")
    assert story.ask("MATCH (p:Plan) RETURN p.status AS s") == [{"s": "ready"}]
    story.ok("execute")
    assert "Every task of the plan was completed before" in story.run("execute").stderr
    runs = story.ask("MATCH (r:Run) RETURN r.status AS s, r.branch AS branch ORDER BY r.startedAt")
    assert [run["s"] for run in runs] == ["completed"] * 2
    assert int(git(story.repository, "rev-list", "--count", f"main..{runs[1]['branch']}")) == 2


HEADING = {
    "code": "heading",
    "severity": "error",
    "message": "The heading is missing.",
    "locus": "NOTES.md",
    "required_fix": "Add a heading.",
}
TEST_SUB = """import unittest

from calc import subtract


class Subtract(unittest.TestCase):
    def test_subtract(self):
        self.assertEqual(subtract(5, 3), 2)
"""


def test_a_new_run_tells_a_task_why_a_bound_stopped_it(story: Story, model: Serve) -> None:
    """After a stop by a bound, a second execute under another limit tells the worker why; that is its strategy, and no
    stage, which is for failures that stay."""
    spiral = worker("subtract", call("read_file", path="calc.py"), attempt=1)
    served = model(script(spiral, worker("subtract", WRITE, finish(), attempt=2), review()))
    story.environ["ORCHESTRATE_RUN_MAX_STOPPED_ATTEMPTS"] = "1"
    story.plan(plan_of(task("subtract")))
    assert story.run("execute").returncode == 1

    story.environ["ORCHESTRATE_GUARDS_STALL_BATCHES"] = "4"
    story.ok("execute")

    told = next(str(b["messages"][1]["content"]) for b in served.requests if "Attempt: 2" in str(b["messages"][1]))
    assert "was stopped" in told
    assert "loop_detected" in told or "stalled" in told
    begun = story.ask("MATCH (a:Attempt) RETURN a.strategy AS strategy, a.stage AS stage ORDER BY a.number")
    assert begun == [{"strategy": "first", "stage": 1}, {"strategy": "after_stop", "stage": 1}]
    assert story.ask("MATCH (:Attempt {number: 2})-[:CONCLUDED]->(d) RETURN d.stage AS stage") == [{"stage": 1}]


def test_a_workspace_that_cannot_be_prepared_fails_its_task_after_two_attempts(story: Story, model: Serve) -> None:
    """No attempt ever begins its work, and yet they count as infrastructure failures: nothing is retried for ever."""
    model(script(worker("subtract", finish()), review()))
    story.environ["ORCHESTRATE_WORKSPACE_PREPARE"] = '["exit 3"]'
    story.plan(plan_of(task("subtract")))

    done = story.run("execute", "--json")

    assert done.returncode == 1, done.stderr
    (ended,) = json.loads(done.stdout)["tasks"]
    assert (ended["status"], ended["attempts"], ended["stopReason"]) == ("failed", 2, "attempts_exhausted")
