"""A run that an older release began and lost: its graph is read as it stands, and its work goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agents.scripted.server import serve
from tests.stories import older_graph
from tests.support.replays import assert_replay_agrees
from tests.support.scripts import call, finish, met, review, script, worker
from tests.support.story import Story, git

FOLDER = Path(__file__).parents[1] / "data" / "graph_of_0_1"
NOTES = "MATCH (a:Attempt {taskKey: 'notes'}) RETURN a.id AS id, a.status AS status ORDER BY a.number"
NEW_CALLS = (
    "MATCH (:Attempt {taskKey: 'notes', number: 3})-[:TOOK]->(:Turn)-[:CALLED]->(c) WHERE NOT c.control "
    "RETURN c.tool AS tool, c.status AS status ORDER BY c.seq"
)
TEST_SUBTRACT = """import unittest

from calc import subtract


class Subtract(unittest.TestCase):
    def test_subtract(self):
        self.assertEqual(subtract(5, 3), 2)
"""

Answers = Mapping[str, Any]


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """A user whose repository was worked on by release 0.1, under today's release."""
    repository = tmp_path_factory.mktemp("older") / "repository"
    with Story(repository).closing() as story:
        older_graph.load(FOLDER, repository)
        yield story


@pytest.fixture(scope="module")
def read(older: Story) -> Answers:
    """What today's commands say before anything is continued, by their words."""
    stopped, cut_off = (row["id"] for row in older.ask(NOTES))
    asked = {
        "status": ("status", "--json"),
        "stopped": ("show", stopped, "--json"),
        "cut off": ("show", cut_off, "--json"),
        "screen": ("show", cut_off),
        "scores": ("query", "--name", "qc-scores", "--format", "json"),
        "files": ("query", "--name", "files-written", "--format", "json"),
    }
    said = {name: older.ok(*words) for name, words in asked.items()}
    return {name: text if name == "screen" else json.loads(text) for name, text in said.items()}


@pytest.fixture(scope="module")
def replayed(older: Story, read: Answers) -> int:
    """How many attempts of the older graph the guards judge again as they did then."""
    with older.graph() as graph:
        return assert_replay_agrees(graph)


@pytest.fixture(scope="module")
def continued(older: Story, read: Answers, replayed: int) -> Answers:
    """What `execute --resume` says. The worker asks for one call more than the cut-off attempt has left over."""
    left = [call("read_file", path="NOTES.md"), call("write_file", path="NOTES.md", file_text="# Notes\n\nadd adds.\n")]
    one_more = call("write_file", path="NOTES.md", file_text="One call too many.\n")
    write = call("write_file", path="test_subtract.py", file_text=TEST_SUBTRACT)
    scripted = script(
        worker("notes", *left, one_more, finish("NOTES.md names add.")),
        worker("tests", write, finish("Tested.")),
        review(task="notes", criteria=[met("NOTES.md names add", path="NOTES.md", first=3, last=3, contains="add")]),
        review(task="tests", criteria=[met("5 - 3 is tested")]),
    )
    with serve(scripted) as model:
        older.use_model(model.base_url)
        done = older.run("execute", "--resume", "--json")
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout), "told": done.stderr}


def test_an_older_repository_keeps_the_id_that_its_path_gave(older: Story, read: Answers) -> None:
    """So its records are found, and still are when it is moved."""
    kept = (older.home / "repository-id").read_text().strip()
    assert older.ask("MATCH (r:Repository) RETURN r.id AS id") == [{"id": kept}]


def test_status_tells_how_an_older_run_stands(read: Answers) -> None:
    """Tasks, attempts, scores and costs are those that were recorded."""
    status = read["status"]
    assert [(t["key"], t["status"], t["attempts"], t["qcScore"]) for t in status["tasks"]] == [
        ("subtract", "completed", 2, 95),
        ("notes", "running", 2, None),
        ("tests", "pending", 0, None),
    ]
    assert status["run"]["status"] == "running"
    assert (status["promptTokens"], status["completionTokens"]) == (24_138, 441)
    assert status["costUsd"] == pytest.approx(0.0272355)
    assert status["cachedTokens"] > 0
    assert (status["cacheWriteTokens"], status["reasoningTokens"]) == (0, 0), "it recorded none"


def test_show_tells_an_older_attempt_call_by_call(read: Answers) -> None:
    """What was executed, answered from memory, ours or under way is told apart, and counted against the budget."""
    turns = [step for step in read["cut off"]["steps"] if "calls" in step]
    assert [(c["tool"], c["uniqueness"], c["status"]) for turn in turns for c in turn["calls"]] == [
        ("list_files", "unique", "ok"),
        ("read_file", "unique", "ok"),
        ("read_file", "duplicate", "duplicate"),
        ("write_file", "unique", "ok"),
        ("report_progress", "control", "ok"),
        ("run_command", "unique", "running"),
    ]
    assert (turns[-1]["callsUsed"], turns[-1]["callsLimit"]) == (4, 6)
    assert {(turn["cacheWriteTokens"], turn["reasoningTokens"]) for turn in turns} == {(0, 0)}
    assert "sleep 30" in read["screen"]
    begun = read["cut off"]["attempt"]
    assert (begun["strategy"], begun["stage"]) == ("after_stop", 1), "stage 2 once said that the one before was stopped"


def test_show_tells_why_an_older_attempt_was_stopped(read: Answers) -> None:
    """The report, the granted calls and the guard that stopped the attempt are told with its stop reason."""
    attempt, steps = read["stopped"]["attempt"], read["stopped"]["steps"]
    assert (attempt["status"], attempt["stopReason"]) == ("stopped", "stalled")
    told = [(step["kind"], step["what"], step["verdict"]) for step in steps if "kind" in step]
    assert told[-1] == ("guard", "stall", "stop")
    assert {("progress", "progress", ""), ("guard", "repetition", "warn")} <= set(told)
    assert [text for step in steps if "Notes are worth it" in (text := str(step))]


def test_saved_queries_answer_from_an_older_graph(read: Answers) -> None:
    """Reviews and writes of the older release are aggregated like today's."""
    (scores,) = read["scores"]
    assert (scores["reviews"], scores["passed"], scores["meanScore"], scores["lowestScore"]) == (2, 1, 67.5, 40)
    assert [(row["path"], row["substantiveWrites"], row["attempts"], row["added"]) for row in read["files"]] == [
        ("calc.py", 2, 2, 5),
        ("NOTES.md", 1, 1, 3),
    ]


def test_the_guards_judge_an_older_attempt_as_they_did_then(replayed: int) -> None:
    """Signatures, outcomes, limits and verdicts of all four recorded attempts mean what they meant."""
    assert replayed == 4


def test_an_older_run_is_completed_under_its_own_bounds(older: Story, continued: Answers) -> None:
    """The run of the older release ends as completed, bounded as it was begun, with one commit for each task."""
    assert continued["status"] == "completed"
    assert [(t["key"], t["status"], t["attempts"]) for t in continued["tasks"]] == [
        ("subtract", "completed", 2),
        ("notes", "completed", 3),
        ("tests", "completed", 1),
    ]
    assert "300,000 tokens" in continued["told"]
    assert "2:00:00" in continued["told"]
    (run,) = older.ask("MATCH (r:Run) RETURN r.id AS id, r.branch AS branch")
    assert continued["runId"] == run["id"]
    assert int(git(older.repository, "rev-list", "--count", f"main..{run['branch']}")) == 3


def test_an_upgrade_refills_no_budget(older: Story, continued: Answers) -> None:
    """Four of six calls were made under the older release, one of them cut off: two are left, the third is refused."""
    assert [row["status"] for row in older.ask(NOTES)] == ["stopped", "interrupted", "accepted"]
    calls = [(row["tool"], row["status"] == "refused") for row in older.ask(NEW_CALLS)]
    assert calls == [("read_file", False), ("write_file", False), ("write_file", True)]
    assert git(older.repository, "show", f"{continued['branch']}:NOTES.md") == "# Notes\n\nadd adds."


def test_a_cut_off_attempt_of_an_older_release_goes_on_with_its_work(older: Story, continued: Answers) -> None:
    """Its successor finds the file that it had written when it was killed."""
    assert older.ask(NEW_CALLS)[0] == {"tool": "read_file", "status": "ok"}
    (begun,) = older.ask("MATCH (a:Attempt {taskKey: 'notes', number: 3}) RETURN a.strategy AS how, a.stage AS stage")
    assert begun == {"how": "after_stop", "stage": 1}


def test_what_went_on_is_judged_over_what_came_before(older: Story, continued: Answers) -> None:
    """The continued attempt's verdicts, too, are those of a replay over the calls that it inherited."""
    with older.graph() as graph:
        assert assert_replay_agrees(graph) == 6
