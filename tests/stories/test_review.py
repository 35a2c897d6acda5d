"""QC that is not to be believed: what it cites is looked up, and what it says is bound to what it saw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.stories.conftest import Serve
from tests.support.processes import wait_until
from tests.support.scripts import SUB, call, finish, met, plan_of, review, script, shell, task, worker
from tests.support.story import Story, attempts, git

WRITE = call("write_file", path="calc.py", file_text=SUB)
CRITERION = "5 - 3 is 2"
SAYS_SO = f"    acceptance_criteria: ['{CRITERION}']\n"
REVIEWS = (
    "MATCH (a:Attempt)-[:REVIEWED_BY]->(v) OPTIONAL MATCH (v)-[:RAISED]->(f) "
    "RETURN a.number AS attempt, v.passed AS passed, f.code AS code ORDER BY a.number, v.at, f.position"
)


def edit(line: str) -> dict[str, Any]:
    """Another text in the place of a line."""
    return call("edit_file", path="long.txt", old_str=line, new_str=f"another {line}")


def reviews(story: Story) -> list[tuple[Any, ...]]:
    """Each review's attempt and verdict, with the codes that it raised."""
    return [tuple(row.values()) for row in story.ask(REVIEWS)]


def test_a_pass_that_shows_nothing_or_what_is_not_so_is_qcs_failure(story: Story, model: Serve) -> None:
    """No evidence, then lines that hold something else: that is nobody's verdict. The work waits, no worker is paid
    again, and what QC lacked is held against nothing; then a command that QC cites is run again, and it passes."""
    check = "from calc import subtract; print(subtract(5, 3))"
    wrong = met(CRITERION, kind="lines", path="calc.py", first=1, last=3, contains="return a - b")
    again = review(attempt=1, criteria=[wrong])
    again["when"]["contains"] = "did not count"
    right = met(CRITERION, kind="command", command=f'python3 -c "{check}"', contains="2")
    served = model(
        script(
            worker("subtract", WRITE, finish()),
            again,
            review(attempt=1, criteria=[met(CRITERION, kind="text", text="It looks right.")]),
            review(criteria=[right]),
        )
    )
    story.plan(plan_of(task("subtract", more=SAYS_SO)))

    story.ok("execute")

    assert attempts(story) == [(1, "failed", "review_error"), (2, "accepted", "accepted")]
    assert reviews(story) == [(1, None, "criterion_unproven"), (1, None, "evidence_false"), (2, True, None)]
    told = next(str(body["messages"][1]) for body in served.requests if "did not count" in str(body["messages"][1]))
    assert "without a command or lines of a file that show it" in told
    assert sum("finish_task" in str(body["tools"]) for body in served.requests) == 2, "one worker, of two replies"
    (row,) = story.ask("MATCH (c:Check {phase: 'review'}) RETURN c.command AS command, c.outcome AS outcome")
    assert row == {"command": right["evidence"]["command"], "outcome": "passed"}
    judged = "MATCH (v:Review)-[:JUDGED]->(c) RETURN c.evidenceKind AS kind, c.evidenceHolds AS holds ORDER BY v.at"
    assert [tuple(row.values()) for row in story.ask(judged)] == [("text", None), ("lines", False), ("command", True)]
    assert "does not stand in lines 1 to 3 of calc.py" in story.ok("show", "subtract:1")
    assert "QC's evidence passed" in story.ok("show", "subtract:2")


def test_the_same_work_gets_the_same_verdict(story: Story, model: Serve) -> None:
    """QC would change its mind: who hands the same in again is told what it said before, without a request; under
    another strictness it is asked."""
    flaw = {"code": "flaw", "severity": "warning", "message": "Untidy.", "locus": "calc.py:5", "required_fix": "Tidy."}
    served = model(
        script(
            worker("subtract", WRITE, finish(), attempt=1),
            worker("subtract", shell("true"), finish()),
            review(False, 60, attempt=1, feedback="Untidy.", findings=[{**flaw, "severity": "error"}]),
            review(findings=[flaw]),
        )
    )
    story.plan(plan_of(task("subtract", more="    max_attempts: 2\n")))

    assert story.run("execute").returncode == 1

    assert reviews(story) == [(1, False, "flaw"), (2, False, "flaw")]
    cached = story.ask("MATCH (v:Review) RETURN v.cached AS cached, v.contentHash AS bound ORDER BY v.at")
    assert [row["cached"] for row in cached] == [None, True]
    assert cached[0]["bound"] == cached[1]["bound"]
    assert sum("submit_review" in str(body["tools"]) for body in served.requests) == 1
    story.ok("retry", "subtract", "--note", "QC was wrong.")
    story.ok("execute")
    assert reviews(story)[2:] == [(3, True, "flaw")]


def test_qc_that_rejects_the_same_three_times_ends_the_task_and_is_named(story: Story, model: Serve) -> None:
    """Though the work is another each time: after three rejections a person has to look, and is told by which model.
    The task is left out then, until QC is another one."""
    flaw = {"code": "flaw", "severity": "error", "message": "Untidy.", "locus": "calc.py:5", "required_fix": "Tidy."}
    tries = [call("write_file", path="calc.py", file_text=f"{SUB}\n# try {number}\n") for number in range(1, 5)]
    said = {"summary": "Nobody says what tidy is.", "actions": ["Say what tidy is."]}
    model(
        script(
            *(worker("subtract", tried, finish(), attempt=number) for number, tried in enumerate(tries, start=1)),
            review(False, 60, findings=[flaw]),
            {"when": {"role": "reporter", "task": "subtract"}, "replies": [call("submit_report", **said)]},
        )
    )
    story.environ["ORCHESTRATE_CONVERGENCE_STALL_THRESHOLD"] = "9"
    story.plan(plan_of(task("subtract")))

    assert story.run("execute").returncode == 1

    (row,) = story.ask(
        "MATCH (t:Task)-[:DIAGNOSED_AS]->(d) RETURN t.stopReason AS reason, d.summary AS summary, "
        "d.actions AS actions, d.byModel AS told"
    )
    assert (row["reason"], row["told"]) == ("review_not_converging", True)
    assert row["summary"].endswith("Nobody says what tidy is.") and row["actions"][-1] == "Say what tidy is."
    assert story.ask("MATCH (r:PlanningRound {purpose: 'report'})-[:TOOK]->(t) RETURN count(t) AS n") == [{"n": 1}]
    assert "QC has rejected 3 attempts" in row["summary"]
    assert "QC's model is scripted; what it rejects the work for is flaw at calc.py:5." in row["summary"]
    assert "is left out" in story.run("execute").stderr
    story.environ["ORCHESTRATE_QC_MODEL"] = "another"
    assert "is left out" not in story.run("execute").stderr


def test_qc_sees_the_merge_where_others_changed_the_same_file(story: Story, model: Serve, tmp_path: Path) -> None:
    """Two tasks begin on the same commit and change one file in two places: what QC has seen of the later one is not
    what would be delivered, so QC is asked over the merge."""
    (story.repository / "long.txt").write_text("".join(f"line {number}\n" for number in range(30)))
    git(story.repository, "add", "long.txt")
    git(story.repository, "commit", "--quiet", "-m", "A long file")
    begun, merged = tmp_path / "begun", tmp_path / "merged"
    waits = "while [ ! -e {} ]; do sleep 0.05; done"
    model(
        script(
            worker("one", shell(waits.format(begun)), edit("line 1\n"), finish()),
            worker("two", shell(f"touch {begun}; {waits.format(merged)}"), edit("line 28\n"), finish()),
            review(),
        )
    )
    story.plan(plan_of(*(task(key, writes=["long.txt"]) for key in ("one", "two"))))

    running = story.start("execute", "--parallel", "2", "--sandbox", "none")
    wait_until(lambda: bool(story.ask("MATCH (t:Task {key: 'one', status: 'completed'}) RETURN t.key AS key")))
    merged.touch()
    assert running.wait(120) == 0

    asked = story.ask(
        "MATCH (a:Attempt)-[:REVIEWED_BY]->(v) RETURN a.taskKey AS key, v.id AS id, v.contentHash AS bound"
    )
    assert sorted(row["key"] for row in asked) == ["one", "two", "two"]
    assert len({row["bound"] for row in asked}) == 3
    assert sum(":merge1:review" in row["id"] for row in asked) == 1


def test_accepted_work_is_looked_at_again_and_opened_again(story: Story, model: Serve) -> None:
    """QC alone, over a task's work or a run's head: nothing changes but the reviews that are recorded. With --reopen
    the next worker is told what blocks, and the graph counts the task as opened again."""
    flaw = {"code": "flaw", "severity": "warning", "message": "Untidy.", "locus": "calc.py:5", "required_fix": "Tidy."}
    tidy = call("write_file", path="calc.py", file_text=f"{SUB}\n# tidy\n")
    served = model(
        script(
            worker("subtract", WRITE, finish(), attempt=1),
            worker("subtract", tidy, finish(), attempt=2),
            review(findings=[flaw]),
        )
    )
    story.plan(plan_of(task("subtract")))
    story.ok("execute")
    (run,) = story.ask("MATCH (r:Run) RETURN r.id AS id, r.headCommit AS head")

    assert "QC passed 95" in story.ok("review", run["id"])
    strict = story.run("review", "subtract", "--strictness", "strict", "--json")
    assert strict.returncode == 1, strict.stderr
    (told,) = json.loads(strict.stdout)["reviews"]
    assert (told["task"], told["passed"], told["score"]) == ("subtract", False, 95)
    assert [finding["code"] for finding in told["findings"]] == ["flaw", "review_findings"]
    assert story.ask("MATCH (t:Task)-[:HAS_ATTEMPT]->(a) RETURN t.status AS t, a.qcPassed AS qc") == [
        {"t": "completed", "qc": True}
    ]
    assert story.ask("MATCH (r:Run) RETURN r.headCommit AS head") == [{"head": run["head"]}]
    assert "Every task of the plan was completed before" in story.run("execute").stderr

    opened = story.run("review", "subtract", "--strictness", "strict", "--reopen")
    assert opened.returncode == 1 and "Pending again: subtract. Next: orchestrate execute" in opened.stderr
    story.ok("execute")

    assert attempts(story) == [(1, "accepted", "accepted"), (2, "accepted", "accepted")]
    told_next = next(str(b["messages"][1]) for b in served.requests if "Attempt: 2" in str(b["messages"][1]))
    assert "is opened again" in told_next and "1 warnings, a strict review allows 0." in told_next
    (row,) = json.loads(story.ok("query", "--name", "review-metrics", "--format", "json"))
    assert (row["reviews"], row["passed"], row["passRate"], row["laterReopened"]) == (5, 3, 0.6, 1)
    assert (row["tasks"], row["reviewsPerTask"], row["reopenedRate"], row["commonIssues"][0]) == (1, 5.0, 1.0, "flaw")
