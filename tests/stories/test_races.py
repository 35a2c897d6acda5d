"""Two processes, branches that cannot follow, bounds that end a run in the middle of a review."""

from __future__ import annotations

import fcntl
import signal

from tests.stories.conftest import Serve
from tests.support.processes import kill, wait_until
from tests.support.scripts import SUB, call, finish, plan_of, review, script, slowly, task, worker
from tests.support.story import Story, attempts, git

WRITE = call("write_file", path="calc.py", file_text=SUB)
MANY = """import unittest

import calc


class Many(unittest.TestCase):
    pass


for number in range(3_000):
    wanted = lambda self, number=number: self.assertNotEqual(getattr(calc, "BAD", None), number)
    setattr(Many, f"test_{number}", wanted)
"""


def test_a_process_goes_on_when_another_one_is_interrupted(story: Story, model: Serve) -> None:
    """Ctrl-C for one of two: it leaves with 130 and marks the run; the other one finishes everything and leaves with
    0."""
    keys = [f"t{n}" for n in range(4)]
    served = model(
        script(
            *(worker(k, call("write_file", path=f"{k}.txt", file_text=k), slowly(finish(), 2500)) for k in keys),
            review(),
        )
    )
    story.plan(plan_of(*(task(k, writes=[f"{k}.txt"]) for k in keys), verification="true"))
    first, second = story.start("execute"), story.start("execute")
    wait_until(lambda: len(served.requests) >= 4)

    first.send_signal(signal.SIGINT)
    _, err = first.communicate(timeout=60)
    assert first.returncode == 130, err
    _, err = second.communicate(timeout=120)

    assert second.returncode == 0, err
    assert story.ask("MATCH (r:Run) RETURN r.status AS s") == [{"s": "completed"}]
    assert story.ask("MATCH (t:Task) RETURN DISTINCT t.status AS s") == [{"s": "completed"}]


def test_a_branch_that_cannot_follow_halts_and_is_delivered_later(story: Story, model: Serve) -> None:
    """The user has the run's branch checked out: the accepted work stays accepted, the message says the way out, and
    the next execute delivers."""
    model(
        script(
            worker("one", call("write_file", path="one.txt", file_text="1"), finish()),
            worker("two", call("write_file", path="two.txt", file_text="2"), slowly(finish(), 4000)),
            review(),
        )
    )
    story.plan(plan_of(task("one", writes=["one.txt"]), task("two", writes=["two.txt"], after=["one"]),
                       verification="true"))  # fmt: skip
    process = story.start("execute")
    wait_until(lambda: bool(git(story.repository, "branch", "--list", "orchestrate/*")))
    wait_until(lambda: "one.txt" in git(story.repository, "ls-tree", "--name-only", branch(story)))
    git(story.repository, "worktree", "add", "-q", str(story.repository.parent / "other"), branch(story))

    _, err = process.communicate(timeout=60)

    assert process.returncode == 2, err
    assert "checked out" in err
    assert "taken over" not in err
    assert [a[1] for a in attempts(story)] == ["accepted", "accepted"]
    git(story.repository, "worktree", "remove", str(story.repository.parent / "other"))
    story.ok("execute")
    assert "two.txt" in git(story.repository, "ls-tree", "--name-only", branch(story))


def branch(story: Story) -> str:
    """The run's branch."""
    return git(story.repository, "branch", "--list", "--format=%(refname:short)", "orchestrate/*").splitlines()[0]


def test_full_verification_is_run_before_the_merge_only(story: Story, model: Serve) -> None:
    """Three thousand tests run over the merged tree of an attempt that QC has passed; the one that fails rejects it,
    and is told to the next worker. What is said and recorded of it names the phase, and the merge has a decision of its
    own, beside that about the attempt."""
    (story.repository / "test_many.py").write_text(MANY)
    git(story.repository, "add", "-A")
    git(story.repository, "commit", "-qm", "Many tests")
    bad = call("write_file", path="calc.py", file_text=SUB + "BAD = 1234\n")
    served = model(
        script(worker("subtract", bad, finish(), attempt=1), worker("subtract", WRITE, finish(), attempt=2), review())
    )
    full = "python3 -m unittest -v test_many"
    plan = plan_of(task("subtract"), verification="python3 -m unittest -q test_calc")
    story.plan(f"{plan}full_verification: [{full}]\n")

    said = story.run("execute").stderr

    assert attempts(story) == [(1, "rejected", "gate_failed"), (2, "accepted", "accepted")]
    assert f"subtract #1 check failed: {full} (merge, " in said
    checks = story.ask(
        "MATCH (a:Attempt)-[:CHECKED_BY]->(c) WHERE c.command CONTAINS 'many' "
        "RETURN a.number AS n, c.outcome AS outcome, c.phase AS phase, c.testsRan AS ran ORDER BY n"
    )
    assert [tuple(row.values()) for row in checks] == [(1, "failed", "merge", 3_000), (2, "passed", "merge", 3_000)]
    decided = story.ask(
        "MATCH (a:Attempt)-[:CONCLUDED]->(d) RETURN a.number AS n, d.phase AS phase, d.decision AS decision, "
        "size(d.reasons) AS reasons ORDER BY n, phase"
    )
    first, second = [(1, "incomplete", 1)] * 2, [(2, "complete", 0)] * 2
    assert [(row["n"], row["decision"], row["reasons"]) for row in decided] == first + second
    assert [row["phase"] for row in decided] == ["merge", "verification"] * 2
    assert "test_1234" in str(served.requests[-3]["messages"][1])
    [accepted] = story.ask("MATCH (a:Attempt {number: 2}) RETURN a.id AS id")
    screen = story.ok("show", accepted["id"])
    assert "check of the merge passed" in screen and "\nmerge complete\n" in screen


def test_the_runs_bound_in_a_review_costs_the_task_nothing(story: Story, model: Serve) -> None:
    """Reached while QC reviews, again and again: the work is kept, no attempt counts, a higher bound lets it pass."""
    model(script(worker("subtract", WRITE, finish()), review()))
    story.plan(plan_of(task("subtract", more="    max_attempts: 1\n")))
    story.environ.update(
        ORCHESTRATE_MODELS_WORKER_MAX_OUTPUT_TOKENS="1000", ORCHESTRATE_MODELS_VERIFIER_MAX_OUTPUT_TOKENS="40000"
    )

    for _ in range(3):
        assert story.run("execute", "--max-tokens", "40000").returncode == 1
    assert story.ask("MATCH (v:Review) RETURN count(v) AS n") == [{"n": 3}]
    story.ok("execute", "--resume", "--max-tokens", "1000000")

    ended = attempts(story)
    assert ended[-1][1] == "accepted"
    assert {status for _, status, _ in ended[:-1]} == {"interrupted"}


def test_a_pm_that_cannot_be_asked_refuses(story: Story, model: Serve) -> None:
    """Models for worker and verifier alone: a request for scope is refused, and the attempt goes on."""
    served = model(
        script(
            worker("subtract", call("request_scope", paths=["docs/x.md"], justification="please"), WRITE, finish()),
            review(),
        )
    )
    del story.environ["ORCHESTRATE_MODEL"]
    story.environ.update(ORCHESTRATE_MODELS_WORKER_NAME="scripted", ORCHESTRATE_MODELS_VERIFIER_NAME="scripted")
    story.plan(plan_of(task("subtract")))

    story.ok("execute")

    assert served.requests
    assert story.ask("MATCH (b:BudgetRequest) RETURN b.granted AS g") == [{"g": False}]


def test_a_kill_between_merge_and_conclusion_accepts_once(story: Story, model: Serve) -> None:
    """SIGKILL while the full verification runs over the merge: its commit is nobody's; the successor only passes the
    gates again, where QC's verdict over the same holds, and the branch has one commit."""
    served = model(script(worker("subtract", WRITE, finish(), attempt=1), review()))
    story.plan(plan_of(task("subtract")) + "full_verification: ['test -e .git && sleep 4']\n")
    process = story.start("execute")
    wait_until(lambda: bool(merge_commits(story)), 60)
    kill(process)
    asked = len(served.requests)

    story.ok("execute", "--resume")

    assert attempts(story) == [(1, "interrupted", "interrupted"), (2, "accepted", "accepted")]
    assert git(story.repository, "rev-list", "--count", f"main..{branch(story)}") == "1"
    assert len(served.requests) == asked, "neither the worker nor QC is asked again"
    assert story.ask("MATCH (v:Review {cached: true}) RETURN v.passed AS passed") == [{"passed": True}]
    assert list((story.repository / ".git" / "orchestrate" / "worktrees").iterdir()) == []


def test_a_kill_between_conclusion_and_delivery_is_delivered_by_the_next(story: Story, model: Serve) -> None:
    """SIGKILL while the delivery waits for its lock: the graph is ahead, and the next execute makes the branch follow
    without asking any model."""
    served = model(script(worker("subtract", WRITE, finish()), review()))
    story.plan(plan_of(task("subtract"), verification="sleep 2"))
    home = story.repository / ".git" / "orchestrate"
    process = story.start("execute")
    wait_until(lambda: len(served.requests) > 1)
    with (home / "deliver.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wait_until(lambda: story.ask("MATCH (t:Task {status: 'completed'}) RETURN t.key") != [], 60)
        kill(process)
    asked = len(served.requests)
    assert branch_of(story) == git(story.repository, "rev-parse", "main")

    story.ok("execute")

    assert branch_of(story) != git(story.repository, "rev-parse", "main")
    assert len(served.requests) == asked
    assert story.ask("MATCH (r:Run) RETURN r.status AS s") == [{"s": "completed"}]


def branch_of(story: Story) -> str:
    """The commit of the run's branch."""
    return git(story.repository, "rev-parse", branch(story))


def merge_commits(story: Story) -> str:
    """The merges that were built in the Shadow."""
    shadow = story.repository / ".git" / "orchestrate" / "shadow.git"
    return git(shadow, "for-each-ref", "refs/orchestrate/commits") if shadow.exists() else ""


def test_calls_behind_the_end_are_closed_with_the_attempt(story: Story, model: Serve) -> None:
    """finish_task in the middle of a batch: what stands behind it is not executed, and no call stays open."""
    late = call("write_file", path="late.txt", file_text="x")["call"]
    batch = {"calls": [WRITE["call"], finish()["call"], late, late]}
    model(script(worker("subtract", batch), review()))
    story.plan(plan_of(task("subtract")))

    story.ok("execute")

    calls = story.ask("MATCH (:Attempt)-[:TOOK]->()-[:CALLED]->(c) RETURN c.tool AS t, c.status AS s ORDER BY c.seq")
    assert [tuple(row.values()) for row in calls] == [
        ("write_file", "ok"),
        ("finish_task", "ok"),
        ("write_file", "refused"),
        ("write_file", "refused"),
    ]
    assert "late.txt" not in git(story.repository, "ls-tree", "--name-only", branch(story))
