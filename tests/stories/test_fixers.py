"""Fixers that mend before a model is asked, and fixes that must not come undone."""

from __future__ import annotations

import json

from tests.stories.conftest import Serve
from tests.support.scripts import call, finish, plan_of, review, script, task, worker
from tests.support.story import Story, attempts

CHECK = "grep -q good state.txt"
FIXERS = (
    "nosuch-fixer --fix",
    "echo x > calc.py",
    "echo good >> state.txt",
    "true",
    "printf 'good\\000' > state.txt",
    "sed -i s/bad/good/ state.txt",
)
"""Not installed, out of scope, another change each time, no change, a broken file, and one that mends."""


def use(story: Story, *fixers: dict[str, str]) -> None:
    """Set these fixers, as a user does."""
    story.environ["ORCHESTRATE_FIXERS"] = json.dumps(fixers)


def write(text: str, path: str = "state.txt") -> dict[str, object]:
    """The worker writes a file."""
    return call("write_file", path=path, file_text=text)


def test_a_fixer_that_settles_all_spares_the_model(story: Story, model: Serve) -> None:
    """The second attempt is the fixers' alone: of six, one may stay; the checks pass, QC is asked, the work is merged.
    Each run is a check of its own phase, what was left out says why, and what was mended is remembered."""
    use(story, *({"check": CHECK, "command": command} for command in FIXERS))
    served = model(script(worker("state", write("bad\n"), finish()), review()))
    story.plan(plan_of(task("state", writes=["state.txt"]), verification=CHECK))
    story.ok("execute")

    assert [status for _, status, _ in attempts(story)] == ["rejected", "accepted"]
    assert not any("Attempt: 2" in str(body) and "You are a worker" in str(body) for body in served.requests)
    ran = story.ask(
        "MATCH (:Attempt {number: 2})-[:CHECKED_BY]->(c {phase: 'fixer'}) WHERE c.passId ENDS WITH ':fixers' "
        "RETURN c.command AS command, c.outcome AS outcome, c.output AS output ORDER BY c.id"
    )
    assert [(row["command"], row["outcome"]) for row in ran] == list(
        zip(FIXERS, ["infrastructure", *["failed"] * 4, "passed"], strict=True)
    )
    told = [row["output"].rpartition("Left out: ")[2] for row in ran[:5]]
    assert told[1].startswith("calc.py was modified, but the task may only change")
    assert told[2:] == [
        "it changes something each time it is run.",
        "it changed nothing.",
        "state.txt is no text any more.",
    ]
    (fix,) = story.ask("MATCH (:Task)-[:FIXED]->(f) RETURN f.path AS path, f.attempt AS attempt, f.verifiedBy AS by")
    assert (fix["path"], fix["attempt"]) == ("state.txt", 2) and fix["by"].endswith(":2:pass1")
    shown = story.ok("show", "state")
    assert "used 2 of 6 attempts: 2 check passes, 1 fix, 1 review" in shown
    assert "fixers mended what was found" in story.ok("show", "state:2", "--json")


def test_what_a_fixer_leaves_is_the_workers(story: Story, model: Serve) -> None:
    """It begins with what the fixer has mended, and is told what still fails, and what was run."""
    use(story, {"check": f"{CHECK} && test -f more.txt", "command": "sed -i s/bad/good/ state.txt"})
    second = worker("state", write("more\n", "more.txt"), finish(), attempt=2)
    served = model(script(worker("state", write("bad\n"), finish(), attempt=1), second, review()))
    paths = "    allowed_paths: ['*.txt']\n"
    story.plan(plan_of(task("state", writes=["state.txt"], more=paths), verification=f"{CHECK} && test -f more.txt"))
    story.ok("execute")

    told = [body["messages"][:2] for body in served.requests if "You are a worker" in str(body["messages"][0])]
    (asked,) = {str(task) for _, task in told if "Attempt: 2" in str(task)}
    assert "What was mended already" in asked and "sed -i s/bad/good/ state.txt" in asked
    (row,) = story.ask("MATCH (a:Attempt {number: 2}) RETURN a.filesChanged AS files, a.outcome AS outcome")
    assert row == {"files": 2, "outcome": "resolved"}


def test_a_fix_that_comes_undone_is_found_and_blocked(story: Story, model: Serve) -> None:
    """QC's finding was mended; the attempt that makes the file what it was before is rejected before QC is asked, and
    so is the next one, which leaves it so although it was told why and what to do. The one that restores it passes."""
    naming = {
        "code": "naming",
        "severity": "error",
        "locus": "state.txt",
        "message": "Say better.",
        "required_fix": "Do.",
    }
    missing = {**naming, "code": "missing", "locus": "more.txt", "message": "More is wanted."}
    workers = [
        worker("state", write("first\n"), finish(), attempt=1),
        worker("state", write("better\n"), finish(), attempt=2),
        worker("state", write("first\n"), write("more\n", "more.txt"), finish(), attempt=3),
        worker("state", write("more of it\n", "more.txt"), finish(), attempt=4),
        worker("state", write("better\n"), finish(), attempt=5),
    ]
    reviews = [
        review(False, 40, attempt=1, findings=[naming]),
        review(False, 60, attempt=2, findings=[missing]),
        review(),
    ]
    served = model(script(*workers, *reviews))
    paths = "    allowed_paths: ['*.txt']\n"
    story.plan(plan_of(task("state", writes=["state.txt"], more=paths), verification="true"))
    story.ok("execute")

    assert [status for _, status, _ in attempts(story)] == [*["rejected"] * 4, "accepted"]
    found = story.ask("MATCH (a)-[:FOUND]->(f {code: 'fix_undone'}) RETURN a.number AS n, f.message AS m ORDER BY n")
    message = "state.txt is again what it was before attempt 2 mended naming at state.txt."
    assert found == [{"n": 3, "m": message}, {"n": 4, "m": message}]
    reviewed = story.ask("MATCH (a)-[:REVIEWED_BY]->() RETURN DISTINCT a.number AS n ORDER BY n")
    assert [row["n"] for row in reviewed] == [1, 2, 5]
    assert any("On `fix_undone`: an earlier attempt changed this file" in str(body) for body in served.requests)
    assert "naming at state.txt: new in attempt 1, gone in 2; attempt 2 mended it in state.txt" in story.ok("report")
