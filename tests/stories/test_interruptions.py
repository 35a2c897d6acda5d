"""Processes that die or are asked to stop: nothing is lost, nothing is done twice, no budget is refilled."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from agents.scripted.server import serve
from tests.stories.conftest import Serve
from tests.support.processes import kill, wait_until
from tests.support.scripts import SUB, call, finish, plan_of, review, script, slowly, task, worker
from tests.support.story import Story, attempts, git, make_repository

WRITE = call("write_file", path="calc.py", file_text=SUB)
READ = call("read_file", path="calc.py")


@pytest.mark.parametrize("turn", [0, 1, 2, 3], ids=["first turn", "after a read", "after a write", "in the review"])
def test_a_killed_run_resumes_where_it_was_without_refilling_its_budget(story: Story, model: Serve, turn: int) -> None:
    """SIGKILL in turn N: the attempt is closed as interrupted, its successor goes on and does not count."""
    steps = [READ, WRITE, finish()]
    replies = [slowly(reply) if at == turn else reply for at, reply in enumerate(steps)]
    qc = review()
    if turn == len(steps):
        qc = {**qc, "replies": [slowly(qc["replies"][0])]}
    served = model(script(worker("subtract", *replies, attempt=1), worker("subtract", WRITE, finish()), qc))
    story.plan(plan_of(task("subtract", more="    tool_call_budget: 4\n    max_attempts: 1\n")))

    process = story.start("execute")
    wait_until(lambda: len(served.requests) > turn)
    time.sleep(0.3)
    kill(process)
    story.ok("execute", "--resume")

    assert attempts(story)[0] == (1, "interrupted", "interrupted")
    assert attempts(story)[-1][1:] == ("accepted", "accepted")
    assert len(attempts(story)) == 2
    assert int(git(story.repository, "rev-list", "--count", "--branches=orchestrate/*", "^main")) == 1
    running = story.ask(
        "MATCH (x) WHERE x.status IN ['running', 'requested'] AND NOT x:ToolCall AND NOT x:Turn RETURN labels(x) AS l"
    )
    assert running == []


def test_checks_that_passed_are_not_run_again_after_a_kill(story: Story, model: Serve) -> None:
    """Killed in the review: the successor takes over the work, and the check that passed over that very tree."""
    qc = review()
    qc = {**qc, "replies": [slowly(qc["replies"][0])]}
    served = model(script(worker("subtract", WRITE, finish()), qc))
    story.plan(plan_of(task("subtract")))

    process = story.start("execute")
    wait_until(lambda: len(served.requests) > 2)
    kill(process)
    story.ok("execute", "--resume")

    assert [status for _, status, _ in attempts(story)] == ["interrupted", "accepted"]
    checks = story.ask(
        "MATCH (a:Attempt)-[:CHECKED_BY]->(c:Check) "
        "RETURN a.number AS attempt, c.outcome AS outcome, c.reusedFrom IS NOT NULL AS reused ORDER BY attempt"
    )
    assert checks == [
        {"attempt": 1, "outcome": "passed", "reused": False},
        {"attempt": 2, "outcome": "passed", "reused": True},
    ]


def test_a_budget_is_not_refilled_by_a_kill(story: Story, model: Serve) -> None:
    """Two calls before the kill leave one of three for the successor: call four is never executed."""
    reads = [call("list_files", path="."), READ, slowly(call("search", pattern="add"), 3000)]
    more = [call("read_file", path="test_calc.py"), call("search", pattern="unittest"), finish()]
    served = model(script(worker("subtract", *reads, attempt=1), worker("subtract", *more, attempt=2), review()))
    story.plan(plan_of(task("subtract", more="    tool_call_budget: 3\n    max_attempts: 1\n")))

    process = story.start("execute")
    wait_until(lambda: len(served.requests) > 2)
    kill(process)
    story.run("execute", "--resume")

    executed = story.ask("MATCH (c:ToolCall {status: 'ok', control: false}) RETURN count(c) AS n")
    assert executed == [{"n": 3}]


def test_one_interrupt_finishes_the_call_and_releases_the_task(story: Story, model: Serve) -> None:
    """Ctrl-C once: exit 130, the attempt closed, the task pending, and --resume completes it."""
    served = model(script(worker("subtract", READ, slowly(WRITE), finish()), review()))
    story.plan(plan_of(task("subtract")))

    process = story.start("execute")
    wait_until(lambda: len(served.requests) > 1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)

    assert process.returncode == 130, err
    assert "resume" in err
    assert "Traceback" not in err
    assert attempts(story) == [(1, "interrupted", "interrupted")]
    assert story.ask("MATCH (t:Task) RETURN t.status AS s") == [{"s": "pending"}]
    assert story.ask("MATCH (r:Run) RETURN r.status AS s") == [{"s": "interrupted"}]
    story.ok("execute", "--resume")
    assert attempts(story)[-1][1] == "accepted"


def test_a_second_interrupt_stops_at_once(story: Story, model: Serve) -> None:
    """Ctrl-C twice leaves with 130 while the model is still silent; the next process takes over."""
    served = model(script(worker("subtract", slowly(READ, 20_000), WRITE, finish(), attempt=1),
                          worker("subtract", WRITE, finish()), review()))  # fmt: skip
    story.plan(plan_of(task("subtract")))

    process = story.start("execute")
    wait_until(lambda: len(served.requests) > 0)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)

    assert process.wait(timeout=10) == 130
    story.ok("execute", "--resume")
    assert [a[1] for a in attempts(story)] == ["interrupted", "accepted"]


def test_two_executes_share_one_run_and_no_task_is_done_twice(story: Story, model: Serve) -> None:
    """The second process joins the first one's run; every task has one attempt and both end well."""
    keys = [f"t{n}" for n in range(6)]
    model(
        script(
            *(worker(k, call("write_file", path=f"{k}.txt", file_text=k), slowly(finish(), 300)) for k in keys),
            review(),
        )
    )
    story.plan(plan_of(*(task(k, writes=[f"{k}.txt"]) for k in keys)))

    processes = [story.start("execute", "--json") for _ in range(2)]
    answers = [process.communicate(timeout=120) for process in processes]

    assert [process.returncode for process in processes] == [0, 0], answers
    assert len({json.loads(out)["runId"] for out, _ in answers}) == 1
    assert story.ask("MATCH (:Task)-[:HAS_ATTEMPT]->(a) RETURN count(a) AS n") == [{"n": 6}]
    assert int(git(story.repository, "rev-list", "--count", "--branches=orchestrate/*", "^main")) == 6


def test_no_process_of_ours_outlives_graph_down(tmp_path: Path) -> None:
    """After `graph down` nothing that mentions the repository's home runs any more."""
    answers = script(worker("subtract", WRITE, finish()), review())
    with Story(make_repository(tmp_path / "repository")).closing() as story, serve(answers) as served:
        story.use_model(served.base_url)
        story.plan(plan_of(task("subtract")))
        assert story.spawn("execute").returncode == 0

        story.ok("graph", "down")

        home = str(story.home)
        assert not [command for command in command_lines() if home.encode() in command]


def command_lines() -> Iterator[bytes]:
    """The command lines of all processes; one that ends while we look has none."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield path.read_bytes()
