"""The demo, and what can be asked of the graph that it leaves."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest

from orchestrator.cli.logs import log_path
from orchestrator.cli.progress import line as progress_line
from orchestrator.cli.render.board import Board
from orchestrator.domain.progress import AttemptFinished, CheckFinished, CheckStarted, RunStarted
from orchestrator.reports.saved_queries import saved_queries
from tests.cli.conftest import Demo
from tests.support.drawn.demo_screen import LOG, demo_text, told
from tests.support.screens import drawn
from tests.support.story import Story, git

MOST_LINES = 25
HEIGHT = 24
TASKS = {
    "median": ("completed", 1),
    "report": ("completed", 2),
    "durations": ("failed", 2),
    "average-duration": ("blocked", 0),
}


def _json(demo: Demo, *arguments: str) -> Any:
    return json.loads(demo.story.ok(*arguments))


def _tasks(demo: Demo) -> dict[str, dict[str, Any]]:
    return {task["key"]: task for task in _json(demo, "status", "--json")["tasks"]}


def _attempt(demo: Demo, task: str, number: int) -> dict[str, Any]:
    found = _json(demo, "show", task, "--json")["attempts"][number - 1]["attempt"]
    story: dict[str, Any] = _json(demo, "show", found, "--json")
    return story


def test_demo_goes_as_told(demo: Demo) -> None:
    """One task passes at once, one after a failed review, one spirals and is stopped, one waits for it in vain."""
    assert demo.done.returncode == 0, demo.done.stderr
    assert "The demo went as told." in demo.done.stdout
    assert {key: (task["status"], task["attempts"]) for key, task in _tasks(demo).items()} == TASKS


def test_demo_fits_one_screen_and_says_how_to_look_further(demo: Demo) -> None:
    """At most 25 lines in all where there is no terminal: a task each, what came of it and why, and the commands that
    say more; in words, without codes."""
    lines = [*demo.done.stderr.splitlines(), *demo.done.stdout.splitlines()]
    assert len(lines) <= MOST_LINES, lines
    assert [line.split()[0] for line in lines if re.match(r"[a-z-]+ +(completed|failed|blocked)  ", line)] == [*TASKS]
    assert "durations         failed     stopped twice, no third try" in lines
    assert "         durations #2 stopped: went in circles" in lines
    assert {"look     cd sample", "         orchestrate show"} < set(lines)
    assert re.findall(r"\b[a-z]+_[a-z_]+\b", "\n".join(lines)) == []


@pytest.mark.parametrize("width", [60, 80, 120])
def test_demo_fits_its_terminal(width: int, demo: Demo) -> None:
    """What the run has told, drawn as wide as the terminal: at most 25 lines, none too long, and no broken word; and
    it is what the README shows."""
    events = list(told(log_path(demo.story.home).read_text()))
    shown = demo_text(events, width)
    assert len(shown.splitlines()) <= MOST_LINES
    assert all(len(line) <= width for line in shown.splitlines())
    assert shown.split() == demo_text(events, 10_000).split()
    assert _masked(shown) == _masked(demo_text(list(told(LOG.read_text())), width)), f"take the new lines into {LOG}"


def _masked(screen: str) -> str:
    """The screen without what differs from run to run: its id, what it cost and how long it took."""
    return re.sub(r"(?<=cost     ).*", "…", re.sub(r"orchestrate/r\w{9}", "orchestrate/<run>", screen))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_live_screen_fits_the_terminal(width: int, demo: Demo) -> None:
    """After each event of the run the board has a line for the run and one or more for each task, none too long."""
    board = Board(clock=lambda: 0.0)
    known: tuple[str, ...] = ()
    for event in told(log_path(demo.story.home).read_text()):
        board.apply(event)
        known = event.tasks if isinstance(event, RunStarted) else known
        lines = drawn(board.view(HEIGHT), width).splitlines()
        assert len(lines) <= HEIGHT and all(len(line) <= width for line in lines)
        assert {line.split()[0] for line in lines[1:]} >= set(known)
        assert not known or re.match(r"[0-2]/4 tasks  ", lines[0])


def test_checks_are_told_one_by_one_with_their_phase(demo: Demo) -> None:
    """Each begins and ends before the next one begins, and none is told when all are over."""
    events = told(log_path(demo.story.home).read_text())
    checks = [event for event in events if isinstance(event, CheckStarted | CheckFinished) and event.task == "median"]
    assert [type(event) for event in checks] == [CheckStarted, CheckFinished] * 3
    begun = [(event.phase, event.number) for event in checks if isinstance(event, CheckStarted)]
    assert begun == [("baseline", 1), ("verification", 1), ("verification", 2)]


def test_an_attempts_end_tells_what_show_tells(demo: Demo) -> None:
    """Tokens and dollars of its reviews are in both, so that the attempts' lines add up to the task's."""
    ended = [event for event in told(log_path(demo.story.home).read_text()) if isinstance(event, AttemptFinished)]
    assert len(ended) == 5
    for event in ended:
        used = re.search(r" calls, (.* tokens, .*), [^,]*\]$", progress_line(event) or "")
        assert used is not None
        kinds = r" \([^)]* (?:cached|reasoning)[^)]*\)"  # of which show tells more
        shown = re.sub(kinds, "", " ".join(demo.story.ok("show", event.attempt_id).split()))
        assert used[1] in shown, event.attempt_id


def test_demo_leaves_the_checkout_alone_and_delivers_a_branch(demo: Demo) -> None:
    """The user's checkout is untouched; the accepted work is a branch with one commit a task."""
    run = _json(demo, "status", "--json")["run"]
    assert git(demo.story.repository, "status", "--porcelain") == ""
    assert git(demo.story.repository, "rev-list", "--count", f"main..{run['branch']}") == "2"
    assert "no values" in git(demo.story.repository, "show", f"{run['branch']}:tally/report.py")


def test_demo_refuses_a_folder_in_use(demo: Demo) -> None:
    """A folder that holds something is not overwritten."""
    done = demo.story.run("demo", "--into", ".")
    assert done.returncode == 2
    assert "is not empty. Name a new folder" in done.stderr


@pytest.mark.parametrize("name", saved_queries())
def test_saved_query_answers_over_the_demo(name: str, demo: Demo) -> None:
    """Each saved query runs from the command line in every format, and they hold the same rows."""
    rows = _json(demo, "query", "--name", name, "--format", "json")
    table = list(csv.reader(io.StringIO(demo.story.ok("query", "--name", name, "--format", "csv"))))
    assert tuple(table[0]) == saved_queries()[name].columns
    assert len(table) - 1 == len(rows)
    assert all(tuple(row) == saved_queries()[name].columns for row in rows)
    assert bool(rows) == (name not in ("running-now", "recurring-failures"))


def test_show_without_id_tells_the_newest_failure(demo: Demo) -> None:
    """The story of the spiral: every call in order, duplicates marked, the guard that stopped it, what to do next."""
    text = demo.story.ok("show")
    assert "durations #2  stopped" in text
    assert "duplicate same as call" in text
    assert "guard repetition stop" in text
    assert "ended: went in circles. " in text
    assert "ended: went in circles [loop_detected]. " in demo.story.ok("-v", "show")


def test_show_of_an_attempt_carries_its_diagnostics(demo: Demo) -> None:
    """Per turn: calls used against the limit, window, stall count, and each call's signature and uniqueness."""
    steps = _attempt(demo, "durations", 1)["steps"]
    turns = [step for step in steps if "calls" in step]
    assert [turn["number"] for turn in turns] == list(range(1, len(turns) + 1))
    assert all(turn["callsUsed"] <= turn["callsLimit"] == 20 and turn["windowMessages"] > 0 for turn in turns)
    assert turns[-1]["stallCount"] >= 3
    calls = [call for turn in turns for call in turn["calls"]]
    assert {call["uniqueness"] for call in calls} == {"unique", "refused"}
    assert all(call["signature"] for call in calls)
    assert [call["why"] for call in calls if call["uniqueness"] == "refused"][1:] == [
        "the attempt ended before it was executed"
    ]
    assert all(call["why"] for call in calls if call["uniqueness"] == "refused")


def test_show_of_a_rejected_attempt_has_the_findings(demo: Demo) -> None:
    """What QC held against the attempt is shown with its required fix."""
    story = _attempt(demo, "report", 1)
    assert story["attempt"]["status"] == "rejected"
    assert "missing_edge_case" in {finding["code"] for finding in story["findings"]}
    text = demo.story.ok("show", story["attempt"]["id"])
    assert "fix: Answer 'no values' for an empty list, and test it." in text


def test_show_diff_of_attempt_task_and_run(demo: Demo) -> None:
    """An attempt's, a task's and a run's change as a unified diff, long after the worktree is gone."""
    attempt = demo.story.ok("show", _attempt(demo, "report", 1)["attempt"]["id"], "--diff")
    assert "+++ b/tally/report.py" in attempt
    assert 'return "no values"' not in attempt
    assert '+        return "no values"' in demo.story.ok("show", "report", "--diff")
    whole = demo.story.ok("show", _json(demo, "status", "--json")["run"]["runId"], "--diff")
    assert "+++ b/tally/median.py" in whole
    assert "+++ b/tally/report.py" in whole


def test_show_of_plan_run_and_task(demo: Demo) -> None:
    """Every ID that a person can meet is shown: a full id, a unique prefix, a task's key."""
    status = _json(demo, "status", "--json")
    assert "average-duration" in demo.story.ok("show", status["planId"])
    assert "durations" in demo.story.ok("show", status["run"]["runId"][:8])
    assert "may write" in demo.story.ok("show", "median")
    unknown = demo.story.run("show", "nothing-of-this-name")
    assert unknown.returncode == 2
    assert "nothing-of-this-name" in unknown.stderr


def test_status_names_cost_and_log(demo: Demo) -> None:
    """One screen: tasks, what was spent, where the log is."""
    text = demo.story.ok("status")
    assert "2 of 4 tasks completed" in text
    assert "$0.0" in text
    log = demo.story.repository / ".git" / "orchestrate" / "logs" / "orchestrate.log"
    assert f"log: {log}" in text
    assert 'CallFinished {"at": ' in log.read_text()


def test_query_is_read_only_unless_write(demo: Demo) -> None:
    """A write without --write is refused by right of the connection and changes nothing."""
    refused = demo.story.run("query", "MATCH (t:Task) SET t.title = 'x'")
    assert refused.returncode == 2
    assert "--write" in refused.stderr
    assert demo.story.ask("MATCH (t:Task {title: 'x'}) RETURN t") == []
    demo.story.ok("query", "CREATE (:Scratch {id: 'scratch'})", "--write")
    assert demo.story.ask("MATCH (s:Scratch) RETURN s.id AS id") == [{"id": "scratch"}]


def test_query_machine_formats(demo: Demo) -> None:
    """Nodes, relationships and instants come as documented; parameters are JSON, else strings; stdin works."""
    cypher = (
        "MATCH (p:Plan)-[h:HAS_TASK]->(t:Task {key: $key}) RETURN t, h, p.createdAt AS at, $list AS list, $text AS text"
    )
    given = ("--param", "key=median", "--param", "list=[1, 2.5, null]", "--param", "text=007x")
    row = json.loads(demo.story.ok("query", "-", "--format", "json", *given, stdin=cypher))[0]
    assert row["t"]["labels"] == ["Task"]
    assert row["t"]["properties"]["key"] == "median"
    assert row["h"]["type"] == "HAS_TASK"
    assert "properties" in row["h"]
    assert row["at"].endswith("Z")
    assert (row["list"], row["text"]) == ([1, 2.5, None], "007x")


def test_query_with_a_syntax_error(demo: Demo) -> None:
    """Cypher that the graph refuses is the user's error: exit code 2, one message."""
    done = demo.story.run("query", "MATCH (n RETURN n")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


def test_query_on_a_narrow_screen_shows_rows_one_by_one(demo: Demo) -> None:
    """An answer too wide for a screen is shown column under column, and no rows are said to be none."""
    assert "row 1 of 2" in demo.story.ok("query", "--name", "why-failed")
    assert demo.story.ok("query", "MATCH (n:Nothing) RETURN n").strip() == "No rows."


def test_calibrate_replays_the_demos_attempts(demo: Demo, tmp_path: Any) -> None:
    """Under its own limits the replay stops what was stopped; under harsher ones earlier."""
    limits = tmp_path / "limits.toml"
    limits.write_text("")
    replays = _json(demo, "calibrate", "--replay", str(limits), "--json")["traces"]
    assert [bool(replay["stop"]) for replay in replays] == [False, False, False, True, True]
    assert set(replays[-1]) == {"id", "calls", "stop", "warnings", "unjudged"}
    limits.write_text("budget = 2\n")
    replays = _json(demo, "calibrate", "--replay", str(limits), "--json")["traces"]
    assert replays[0]["warnings"][0]["guard"] == "budget"


def test_execute_names_the_open_question(demo: Demo) -> None:
    """A plan without an open run cannot be resumed, and --dry-run starts nothing."""
    named = {"ORCHESTRATE_MODEL": "any", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    done = Story(demo.story.repository, demo.story.environ | named).run("execute", "--resume")
    assert done.returncode == 2
    assert "no open run to resume" in done.stderr
    before = demo.story.ask("MATCH (r:Run) RETURN count(r) AS n")
    preview = _json(demo, "execute", "--dry-run", "--json")
    assert preview["order"] == [["durations"], ["average-duration"]]
    assert demo.story.ask("MATCH (r:Run) RETURN count(r) AS n") == before
