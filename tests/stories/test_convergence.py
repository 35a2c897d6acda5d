"""Tasks whose attempts come no nearer to an end, and tasks that only take long."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

from agents.scripted.server import ScriptedModel
from tests.stories.conftest import Serve
from tests.support.processes import kill, wait_until
from tests.support.scripts import call, finish, plan_of, review, script, shell, slowly, task, worker
from tests.support.story import Story, attempts, git

STANDING = (
    "MATCH (a:Attempt)-[:CONCLUDED]->(d:Decision) WHERE a.status = 'rejected' "
    "RETURN a.stage AS stage, d.stage AS next, d.stallCount AS stalls, d.trend AS trend ORDER BY a.number"
)
CONSTANT = [(1, 1, 1, "first"), (1, 2, 0, "stalled"), (2, 2, 1, "stalled"), (2, 3, 2, "stalled")]


def wrong(number: int) -> dict[str, object]:
    """Another try that fails in the same way."""
    return call("write_file", path="calc.py", file_text=f"def add(a, b):\n    return 0  # try {number}\n")


def asked(served: ScriptedModel, words: str) -> bool:
    """Whether the model was sent a conversation that begins with these words."""
    return any(words in str(body["messages"][1]) for body in served.requests)


def standing(story: Story) -> list[tuple[int, int, int, str]]:
    """Stage of each rejected attempt, and stage, stalls and trend behind it."""
    return [(row["stage"], row["next"], row["stalls"], row["trend"]) for row in story.ask(STANDING)]


def assert_held_at_stage_2(story: Story, served: ScriptedModel) -> None:
    """The third attempt may only change what is declared or was touched: what it asks for elsewhere is refused, what
    its command made elsewhere is put back, and its worker was told."""
    refused = "MATCH (:Attempt {number: 3})-[:TOOK]->()-[:CALLED]->(c {tool: 'write_file', status: 'refused'}) RETURN c"
    assert len(story.ask(refused)) == 1
    found = "MATCH (:Attempt {number: 3})-[:FOUND]->(f {code: 'put_back'}) RETURN f.severity AS s, f.message AS m"
    (put_back,) = story.ask(found)
    assert put_back["s"] == "warning" and "made.txt" in put_back["m"]
    (row,) = story.ask("MATCH (a:Attempt {number: 3}) RETURN a.treeAfter AS tree, a.allowedPaths AS paths")
    assert "made.txt" not in git(story.home / "shadow.git", "ls-tree", "-r", "--name-only", row["tree"])
    assert row["paths"] == ["calc.py"]
    told = {n: any("## Stage 2" in str(b) for b in served.requests if f"Attempt: {n}" in str(b)) for n in range(1, 5)}
    assert told == {1: False, 2: False, 3: True, 4: True}


def artefacts(story: Story) -> dict[str, Any]:
    """The documents about the task, from the folder that `show` names."""
    folder = Path(json.loads(story.ok("show", "subtract", "--json"))["artefacts"])
    return {path.name: json.loads(path.read_text("utf-8")) for path in folder.iterdir()}


def assert_told_in_files(story: Story) -> None:
    """The files say what the graph says: a row for each check pass, each change of the stage, and the reasons that are
    on the attempt."""
    told = artefacts(story)
    rows = told["failure_fingerprint_history.json"]["passes"]
    assert [(row["stage"], row["stall_count"], row["trend"]) for row in rows] == [row[1:] for row in CONSTANT]
    assert len({row["set"] for row in rows}) == 1
    moved = told["stage_transitions.json"]["transitions"]
    assert [(each["from"], each["to"]) for each in moved] == [(1, 2), (2, 3)]
    (row,) = story.ask("MATCH (a:Attempt {number: 4}) RETURN a.errorContextJson AS e")
    reasons = json.loads(row["e"])["completion"]
    assert {name: told["completion_reasons.json"][name] for name in reasons} == reasons
    assert (reasons["stage"], reasons["stall_count"], reasons["scope_violation"]) == (3, 2, False)
    assert reasons["new_failures"] == reasons["fingerprints"]
    assert [each["path"] for each in told["scope.json"]["changes"]] == ["calc.py"]
    assert told["baseline_failures.json"]["checks"] == [{"command": "python3 -m unittest -q", "outcome": "passed"}]
    (failure,) = told["current_failures.json"]["failures"]
    assert failure["fingerprint"] == reasons["fingerprints"][0]


def test_a_constant_failure_ends_its_task_at_the_fourth_check_pass(story: Story, model: Serve) -> None:
    """Two attempts, two more at stage 2, then the report: what failed, how often, what was tried, what to do. It is not
    tried again unchanged; retried, it begins anew."""
    tries = {n: [wrong(n), finish()] for n in range(1, 6)}
    tries[3] = [call("write_file", path="new.txt", file_text="new"), shell("touch made.txt"), *tries[3]]
    served = model(script(*(worker("subtract", *tries[n], attempt=n) for n in tries), review()))
    story.plan(plan_of(task("subtract")))
    assert story.run("execute").returncode == 1
    assert_held_at_stage_2(story, served)

    assert standing(story) == CONSTANT
    (row,) = story.ask("MATCH (t:Task)-[:DIAGNOSED_AS]->(d) RETURN t.status AS s, t.stopReason AS r, d AS d")
    assert (row["s"], row["r"]) == ("failed", "not_converging")
    report = row["d"]["properties"]
    assert report["attempts"] == len(report["tried"]) == 4
    assert "no nearer to an end: 4." in report["summary"]
    assert report["openFindings"] and "(in 4 attempts)" in report["openFindings"][0]
    assert any("retry it with a note" in action for action in report["actions"])

    assert_told_in_files(story)
    requests = len(served.requests)
    again = story.run("execute")
    assert "is left out" in again.stderr and "prompt, model, budget, paths and base" in again.stderr
    assert len(served.requests) == requests
    story.ok("retry", "subtract", "--note", "Return the sum.")
    story.environ["ORCHESTRATE_CONVERGENCE_MAX_STAGE"] = "1"
    story.environ["ORCHESTRATE_CONVERGENCE_STALL_THRESHOLD"] = "1"
    assert story.run("execute").returncode == 1
    assert standing(story)[4:] == [(1, 1, 1, "first")], "one stall is enough now, and nothing before the retry counts"


def test_failures_that_differ_each_time_end_by_max_attempts(story: Story, model: Serve) -> None:
    """Four passes with four failures raise nothing."""
    words = ("alpha", "beta", "gamma", "delta")
    tries = [call("write_file", path="state.txt", file_text=f"{word}\n") for word in words]
    model(script(*(worker("state", tried, finish(), attempt=n) for n, tried in enumerate(tries, start=1))))
    command = "cat state.txt; grep -q right state.txt"
    story.plan(plan_of(task("state", writes=["state.txt"], more="    max_attempts: 4\n"), verification=command))
    answer = story.run("execute", "--json")

    assert standing(story) == [(1, 1, 1, "first"), *[(1, 1, 1, "peeling")] * 3]
    (ended,) = json.loads(answer.stdout)["tasks"]
    assert (ended["attempts"], ended["stopReason"]) == (4, "attempts_exhausted")


def test_a_failure_that_is_back_is_named_with_its_attempts(story: Story, model: Serve) -> None:
    """A, B, A and then neither: what had gone is told as back, to the user, in the graph and to the next worker, with
    what each attempt came to and what was used of the bounds."""
    words = ("alpha", "beta", "alpha again", "right")
    tries = [call("write_file", path="state.txt", file_text=f"{word}\n") for word in words]
    workers = [worker("state", tried, finish(), attempt=n) for n, tried in enumerate(tries, start=1)]
    served = model(script(*workers, review()))
    command = "cut -d' ' -f1 state.txt; grep -q right state.txt"
    story.plan(plan_of(task("state", writes=["state.txt"]), verification=command))
    story.ok("execute")

    assert [row[3] for row in standing(story)] == ["first", "peeling", "oscillating"]
    found = story.ask("MATCH (a:Attempt)-[:FOUND]->(f {code: 'reappeared'}) RETURN a.number AS n, f.message AS m")
    assert found == [
        {"n": 3, "m": "check_failed was mended and is back: new in attempt 1, gone in 2, back in 3."},
    ]
    came_to = "MATCH (a:Attempt) RETURN a.outcome AS o ORDER BY a.number"
    assert [row["o"] for row in story.ask(came_to)] == ["rejected", "progress", "regressed", "resolved"]
    (counts,) = story.ask(
        "MATCH (:Attempt {number: 4})-[:CONCLUDED]->(d) RETURN d.checkPasses AS p, d.fixes AS f, d.reviews AS r"
    )
    assert counts == {"p": 4, "f": 3, "r": 1}
    shown = story.ok("show", "state")
    assert "used 4 of 6 attempts: 4 check passes, 3 fixes, 1 review" in shown
    assert re.search(r"check_failed .* new +gone +back +gone", shown)
    assert "state: used 4 of 6 attempts" in story.ok("show")
    assert told_of_course(served, 2) == ""
    course = told_of_course(served, 4)
    assert "attempt 3: rejected, gate_failed; it came to regressed" in course
    assert "new in attempt 1, gone in 2, back in 3" in course


def told_of_course(served: ScriptedModel, number: int) -> str:
    """What the worker of an attempt was told of those before it."""
    asked_for = next(str(body["messages"][1]) for body in served.requests if f"Attempt: {number}\\n" in str(body))
    return asked_for.partition("## The last attempts at this task")[2]


def test_a_killed_process_changes_neither_stage_nor_counts(story: Story, model: Serve) -> None:
    """SIGKILL between the first two check passes and between the last two: what follows stands where it would have
    stood, and the task ends at the fourth pass all the same."""
    dies = {2, 5}
    replies = {n: (slowly(wrong(n), 5_000) if n in dies else wrong(n), finish()) for n in range(1, 8)}
    served = model(script(*(worker("subtract", *replies[n], attempt=n) for n in replies), review()))
    story.plan(plan_of(task("subtract")))

    for number in sorted(dies):
        process = story.start("execute")
        wait_until(partial(asked, served, f"Attempt: {number}"))
        kill(process)
    assert story.run("execute", "--resume").returncode == 1

    ended = [status for _, status, _ in attempts(story)]
    assert ended == ["rejected", "interrupted", "rejected", "rejected", "interrupted", "rejected"]
    assert standing(story) == CONSTANT
    rows = artefacts(story)["failure_fingerprint_history.json"]["passes"]
    assert [(row["stage"], row["stall_count"], row["trend"]) for row in rows] == [row[1:] for row in CONSTANT]
