"""Work that does not move, through the real command line: what names and outcomes alone do not show, and what looks
like a loop and is work. One run holds them all, one task for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.scripted.server import serve
from tests.support.replays import assert_replay_agrees
from tests.support.scripts import Conversation, call, finish, plan_of, review, script, shell, task, worker
from tests.support.story import Story, make_repository


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    """An edit_file."""
    return call("edit_file", path=path, old_str=old, new_str=new)


def write(path: str, text: str) -> dict[str, Any]:
    """A write_file."""
    return call("write_file", path=path, file_text=text)


def paths(number: int) -> str:
    """One of three files."""
    return f"alike{number % 3}.txt"


LOOPS: dict[str, tuple[Conversation, str, str, int]] = {
    "rewords": (worker("rewords", *(shell(f"cat calc.py  # once more, {n}") for n in range(30))),
                "no_news", "loop_detected", 13),
    "alike": (worker("alike", *(each for n in range(30) for each in (
                write(paths(n), f"try {n}\n"), shell("python3 -c 'raise ValueError(\"still\")'")))),
              "same_failure", "same_error", 16),
    "clock": (worker("clock", shell("echo up since $(date +%s%N), load 0.$RANDOM")), "figures", "loop_detected", 12),
    "rewrites": (worker("rewrites", *(write("rewrites.txt", f"version {n}\n") for n in range(30))),
                 "thrash", "thrashing", 16),
}  # fmt: skip
"""Worker, guard, stop code, and the most calls that are executed."""

WORK: dict[str, Conversation] = {
    "hunks": worker("hunks", write("hunks.txt", "".join(f"part {n}\n" for n in range(30))), finish()),
    "prints": worker("prints", *(each for n in range(5) for each in (
        edit("calc.py", "return a + b", f"print({n})\n    return a + b"), shell(f"python3 -c 'import calc; {n}'"),
        edit("calc.py", f"print({n})\n    return a + b", "return a + b"))), write("prints.txt", "x\n"), finish()),
    "undoes": worker("undoes", shell("git checkout -- ."), shell("git restore calc.py"), shell("git add ."),
                     shell("git reset --hard"), shell("git rm -q calc.py"), write("undoes.txt", "x\n"), finish()),
}  # fmt: skip
BUDGET = 40


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, lasting_graph: Path) -> Iterator[Story]:
    """The story after one run over all the workers above."""
    folder = tmp_path_factory.mktemp("motion") / "repository"
    conversations = [*(each[0] for each in LOOPS.values()), *WORK.values(), review()]
    with (
        Story(make_repository(folder)).share(lasting_graph).closing() as story,
        serve(script(*conversations)) as served,
    ):
        story.use_model(served.base_url)
        story.environ["ORCHESTRATE_RUN_MAX_STOPPED_ATTEMPTS"] = "1"
        story.plan(plan_of(*map(_task, (*LOOPS, *WORK)), verification="true"))
        done = story.run("execute", "--parallel", "2")
        assert done.returncode == 1, done.stderr
        yield story


def _task(key: str) -> str:
    files = (
        [paths(n) for n in range(3)] if key == "alike" else [f"{key}.txt", *(["calc.py"] if key == "prints" else [])]
    )
    return task(key, writes=files, more=f"    tool_call_budget: {BUDGET}\n    max_attempts: 1\n")


@pytest.mark.parametrize("key", LOOPS)
def test_work_that_does_not_move_is_stopped_by_its_rule(ended: Story, key: str) -> None:
    """The graph names the guard, the code and the figures, and the stop comes long before the budget is used."""
    _, guard, code, most = LOOPS[key]
    [row] = ended.ask(
        "MATCH (:Task {key: $key})-[:HAS_ATTEMPT]->(a)-[:TRIGGERED]->(g:GuardEvent {verdict: 'stop'}) "
        "RETURN g.guard AS guard, a.stopReason AS code, a.toolCallCount AS calls, g.observed >= g.limit AS beyond",
        key=key,
    )
    assert (row["guard"], row["code"], row["beyond"]) == (guard, code, True)
    assert row["calls"] <= most


@pytest.mark.parametrize("key", WORK)
def test_what_looks_like_a_loop_and_is_work_goes_on(ended: Story, key: str) -> None:
    """Many parts of one file, debug prints put in and taken out, four ways to learn that git only reads."""
    [row] = ended.ask("MATCH (:Task {key: $key})-[:HAS_ATTEMPT]->(a) RETURN a.status AS status", key=key)
    assert row["status"] == "accepted"


def test_the_same_is_said_over_what_the_graph_holds(ended: Story) -> None:
    """Guards folded over the recorded events speak as they did live."""
    with ended.graph() as graph:
        assert assert_replay_agrees(graph) == len(LOOPS) + len(WORK)
