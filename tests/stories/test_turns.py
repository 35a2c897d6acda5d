"""Turns that cost no tool call are bounded as calls are, through the real command line.

No other guard sees these workers: nothing that they do is executed, no order returns, and no answer says the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.scripted.server import serve
from tests.support.replays import assert_replay_agrees
from tests.support.scripts import call, finish, plan_of, review, script, task, worker
from tests.support.story import CALC, TEST_CALC, Story, make_repository

BUDGET, TURNS = 20, 30
WORDS = [f"{one} {other}" for one in ("so", "thus", "now", "then", "yet", "still") for other in ("on", "up", "in", "by",
         "off", "out", "to")]  # fmt: skip
FILES = {"calc.py": CALC, "test_calc.py": TEST_CALC, "notes.txt": "to be kept\n"}


def _report(word: str) -> dict[str, Any]:
    return call("report_progress", description=f"I go {word}.")


def _aperiodic() -> Iterator[dict[str, Any]]:
    """Reports, texts and reads of files that were read before; which comes when is a walk that never returns."""
    for number, word in enumerate(WORDS):
        kind = bin(number).count("1") % 3
        path = ("calc.py", "test_calc.py", "notes.txt")[(number // 3) % 3]
        yield call("read_file", path=path) if kind == 0 else _report(word) if kind == 1 else {"text": f"Hm, {word}."}


WORKERS = {
    "wanders": worker("wanders", *_aperiodic()),
    "reports": worker("reports", *map(_report, WORDS)),
    "refused": worker(
        "refused", *(call("write_file", path=f"{word.replace(' ', '/')}.txt", file_text=word) for word in WORDS)
    ),
    "in-time": worker(
        "in-time", call("write_file", path="in-time.txt", file_text="x\n"), *map(_report, WORDS[: TURNS - 2]), finish()
    ),
}
ENDLESS = ("wanders", "reports", "refused")


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, lasting_graph: Path) -> Iterator[Story]:
    """The story after one run over these workers, one attempt each."""
    folder = tmp_path_factory.mktemp("turns") / "repository"
    with (
        Story(make_repository(folder, FILES)).share(lasting_graph).closing() as story,
        serve(script(*WORKERS.values(), review())) as served,
    ):
        story.use_model(served.base_url)
        more = f"    tool_call_budget: {BUDGET}\n    max_attempts: 1\n"
        tasks = (task(key, writes=[f"{key}.txt"], more=more) for key in WORKERS)
        story.plan(plan_of(*tasks, verification="true"))
        done = story.run("execute", "--parallel", "2")
        assert done.returncode == 1, done.stderr
        yield story


def _attempt(story: Story, key: str) -> dict[str, Any]:
    [row] = story.ask("MATCH (:Task {key: $key})-[:HAS_ATTEMPT]->(a) RETURN properties(a) AS a", key=key)
    properties: dict[str, Any] = row["a"]
    return properties


def _turns(story: Story, key: str) -> list[dict[str, Any]]:
    rows = story.ask(
        "MATCH (:Task {key: $key})-[:HAS_ATTEMPT]->()-[:TOOK]->(t) RETURN properties(t) AS t ORDER BY t.seq", key=key
    )
    return [row["t"] for row in rows]


@pytest.mark.parametrize("key", ENDLESS)
def test_turns_that_cost_no_call_end(ended: Story, key: str) -> None:
    """30 turns at a budget of 20, the last with its tools withheld, and no further request."""
    attempt, turns = _attempt(ended, key), _turns(ended, key)
    assert (attempt["status"], attempt["stopReason"], len(turns)) == ("stopped", "turn_limit", TURNS)
    assert attempt["toolCallCount"] <= 3
    assert [turn["turnsUsed"] for turn in turns] == list(range(TURNS))
    assert {turn["turnsLimit"] for turn in turns} == {TURNS}
    assert [turn["toolsWithheld"] for turn in turns] == [False] * (TURNS - 1) + [True]


def test_a_worker_that_finishes_in_its_last_turn_is_accepted(ended: Story) -> None:
    """The bound leaves room to finish."""
    assert (_attempt(ended, "in-time")["status"], len(_turns(ended, "in-time"))) == ("accepted", TURNS)


def test_the_worker_is_warned_twice_before(ended: Story) -> None:
    """At 80 and 95 percent, as of the calls."""
    rows = ended.ask(
        "MATCH (:Task {key: 'reports'})-[:HAS_ATTEMPT]->()-[:TRIGGERED]->(g {guard: 'turns'}) "
        "RETURN g.verdict AS v, g.observed AS n, g.limit AS most ORDER BY g.seq"
    )
    assert [tuple(row.values()) for row in rows] == [("warn", 24, 30), ("warn", 29, 30), ("stop", 30, 30)]


def test_the_bound_is_shown_and_said_in_words(ended: Story) -> None:
    """`show` counts turns, tells the end in words and the retry with more calls; logs have the figures."""
    assert "1 attempt, 30 turns, " in ended.ok("show", "wanders")
    shown = ended.ok("show", "wanders:1")
    for said in ("turn 12 of 30", "30/30 turns", "out of turns", "--budget 30"):
        assert said in shown
    log = (ended.repository / ".git" / "orchestrate" / "logs" / "orchestrate.log").read_text()
    assert '"turn": 12, "turns": 30' in log
    lines = [
        json.loads(line.split("orchestrate.turn ", 1)[1]) for line in log.splitlines() if "orchestrate.turn {" in line
    ]
    assert {line["turnsLimit"] for line in lines if line["of"] == "Attempt"} == {TURNS}


def test_every_attempt_replays_to_the_same_verdicts(ended: Story) -> None:
    """The GuardSet rebuilt from the graph says what the live one said."""
    with ended.graph() as graph:
        assert assert_replay_agrees(graph) == len(WORKERS)
