"""plan, execute, show and the demo as a user meets them: output, exit codes, what a failure ends with."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agents.scripted.server import serve
from orchestrator.store.graph_store import GraphStore
from tests.support.processes import read_terminal
from tests.support.scripts import call, finish, plan_of, review, script, worker
from tests.support.story import CLI, Story

TASK = """
  - key: {key}
    prompt: Add a function.
    files_written: ["{key}.py"]
    max_attempts: 1
    depends_on: {needs}
"""
PLAN = plan_of(TASK.format(key="first", needs="[]"), TASK.format(key="second", needs="[first]"))


def _plan(story: Story, text: str = PLAN) -> Path:
    path = story.repository.parent / "plan.yaml"
    path.write_text(text)
    return path


def test_plan_file_is_shown_as_table_and_tree(fresh: Story) -> None:
    """A plan written by hand needs no model; its tasks, scores and order are shown, the next command is named."""
    done = fresh.run("plan", "--file", str(_plan(fresh)))
    assert (done.returncode, "is ready: orchestrate execute" in done.stderr) == (0, True)
    assert "└── first" in done.stdout
    assert "    └── second" in done.stdout


def test_plan_dry_run_stores_nothing_and_out_writes_a_plan_file(fresh: Story, tmp_path: Path) -> None:
    """--dry-run leaves the graph as it was; --out writes what --file takes."""
    out = tmp_path / "out.yaml"
    done = fresh.run("plan", "--file", str(_plan(fresh)), "--dry-run", "--out", str(out), "--json")
    assert json.loads(done.stdout)["status"] == "ready"
    assert fresh.ask("MATCH (p:Plan) RETURN p.id") == []
    again: dict[str, Any] = json.loads(fresh.ok("plan", "--file", str(out), "--json"))
    assert [task["key"] for task in again["tasks"]] == ["first", "second"]
    assert set(again["tasks"][0]) == {"id", "key", "status", "score", "band", "defects"}


def test_plan_that_is_refused_ends_with_3_and_its_reasons(fresh: Story) -> None:
    """Verification that nobody can execute is refused with exit code 3, each with its task, field and line, the plan's
    own too; stdout stays one JSON document."""
    text = 'goal: g\nverification: ["manual"]\ntasks:\n  - key: a\n    prompt: p\n    verification: ["Postman"]\n'
    done = fresh.run("plan", "--file", str(_plan(fresh, text)), "--json")
    assert done.returncode == 3
    assert "Refused: verification[0], line 2: nobody can execute 'manual'" in done.stderr
    assert "Refused: a, verification[0], line 6: nobody can execute 'Postman'" in done.stderr
    answer = json.loads(done.stdout)
    assert answer["status"] == "rejected"
    assert [defect.partition(":")[0] for defect in answer["defects"]] == [
        "verification[0], line 2",
        "a, verification[0], line 6",
    ]
    assert answer["tasks"][0]["defects"][0].startswith("verification[0]: nobody can execute")


def test_a_plan_file_that_cannot_be_read_is_one_json_document_too(fresh: Story) -> None:
    """With --json the defects of a plan that no plan comes of are on stdout, and the message on stderr; exit code 3."""
    done = fresh.run("plan", "--file", str(_plan(fresh, "goal: g\ntasks:\n  - key: A\n    prompt: ''\n")), "--json")
    assert done.returncode == 3
    answer = json.loads(done.stdout)
    assert (answer["planId"], answer["status"], answer["tasks"]) == (None, "rejected", [])
    assert [defect.partition(":")[0] for defect in answer["defects"]] == ["A, key, line 3", "A, prompt, line 4"]
    assert "The plan has 2 defects" in done.stderr


def test_plan_without_key_stores_no_draft(fresh: Story) -> None:
    """Without a key the PM is not asked: exit code 2, the variable is named, nothing is left in the graph."""
    done = fresh.run("plan", "a goal")
    assert done.returncode == 2
    assert "ORCHESTRATE_MODEL" in done.stderr
    assert fresh.ask("MATCH (p:Plan) RETURN p.id") == []


def test_execute_without_key_opens_no_run(fresh: Story) -> None:
    """A missing key is found before a run is opened."""
    fresh.plan(PLAN)
    fresh.environ["ORCHESTRATE_MODEL"] = "some-model"
    done = fresh.run("execute")
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr
    assert fresh.ask("MATCH (r:Run) RETURN r.id") == []


def test_a_failed_execute_says_what_to_look_at_next(fresh: Story) -> None:
    """It ends with the task, its cause, the last failing output, the diff's command and the next one; exit code 1."""
    broken = script(
        worker("first", call("write_file", path="first.py", file_text="x = 1\n"), finish()),
        worker("second", finish()),
        review(),
    )
    fresh.plan(PLAN.replace("python3 -m unittest -q", "python3 second.py"))
    with serve(broken) as model:
        fresh.use_model(model.base_url)
        done = fresh.run("execute", "--json")
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert set(answer) == {"runId", "planId", "branch", "status", "costUsd", "granted", "runsLater", "tasks"}
    assert [(task["key"], task["status"]) for task in answer["tasks"]] == [("first", "failed"), ("second", "blocked")]
    ending = done.stderr[done.stderr.index("Task first failed") :]
    assert "second.py" in ending
    assert "Its diff:   orchestrate show " in ending
    assert "Next:       orchestrate retry first" in ending


def test_execute_of_one_task_succeeds_beside_a_failed_one(fresh: Story) -> None:
    """--task executes a task with what it depends on and answers for these alone; an unknown key is an error."""
    working = script(
        worker("first", call("write_file", path="first.py", file_text="x = 1\n"), finish()),
        worker("second", finish()),
        review(),
    )
    fresh.plan(PLAN)
    with serve(working) as model:
        fresh.use_model(model.base_url)
        assert fresh.run("execute", "--task", "third").returncode == 2
        done = fresh.run("execute", "--task", "first")
    assert done.returncode == 0, done.stderr
    states = {task["key"]: task["status"] for task in json.loads(fresh.ok("status", "--json"))["tasks"]}
    assert states == {"first": "completed", "second": "pending"}


@pytest.mark.parametrize("arguments", [["execute"], ["status"], ["execute", "--dry-run"]])
def test_without_a_plan_the_way_to_one_is_named(arguments: list[str], fresh: Story) -> None:
    """No plan yet: exit code 2 and the command that makes one."""
    done = fresh.run(*arguments)
    assert done.returncode == 2
    assert "orchestrate plan" in done.stderr


def test_show_without_anything_to_show_says_so(fresh: Story) -> None:
    """No plan yet: that is no error, and the way to one is named."""
    done = fresh.run("show")
    assert (done.returncode, "orchestrate plan" in done.stderr) == (0, True)


def test_a_parameter_that_no_graph_can_hold_is_the_users_error(fresh: Story) -> None:
    """More than 64 bits, or lists without end within one another: exit code 2, not a defect of ours."""
    done = fresh.run("query", "RETURN $n", "--param", f"n={2**64}")
    assert done.returncode == 2 and "64 bits" in done.stderr
    for depth in (51, 500, 100_000):
        done = fresh.run("query", "RETURN $n", "--param", f"n={'[' * depth}{']' * depth}")
        assert done.returncode == 2 and "nests deeper than 50" in done.stderr


def test_demo_without_bubblewrap(tmp_path: Path, embedded_home: Path, empty_graph: GraphStore) -> None:
    """The demo goes as told under Landlock, and where no sandbox at all can be had it says so and runs without. With -v
    it tells all of it."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for program in Path(folder).glob("*"):
            if program.name != "bwrap" and not (programs / program.name).exists():
                (programs / program.name).symlink_to(program)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "graph").symlink_to(embedded_home / "graph")
    story = Story(tmp_path)
    story.environ |= {"PATH": str(programs), "ORCHESTRATE_HOME": str(home)}
    done = story.spawn("-v", "demo", "--into", "sample")
    assert done.returncode == 0, done.stderr
    assert "sandbox landlock" in done.stderr or "No sandbox can be had here" in done.stderr
    _assert_told_in_full(done)


def _assert_told_in_full(demo: subprocess.CompletedProcess[str]) -> None:
    """Each call, check, guard and end is a line on stderr, with stop codes and without control characters; stdout has
    the plan, the tasks and what the graph answers."""
    lines = demo.stderr.splitlines()
    assert any(line.startswith("median #1 4/20 run_command python3 -m unittest") for line in lines)
    assert any(line.startswith("median #1 check passed: python3 -m unittest (verification, ") for line in lines)
    assert any("durations #1 guard" in line and " stops: " in line for line in lines)
    assert any(line.startswith("report #1 rejected (review not passed [review_failed], QC 55)") for line in lines)
    assert "\x1b" not in demo.stderr
    for part in ("order of execution", "no third try [stops_exhausted]", "(orchestrate query --name why-failed)"):
        assert part in demo.stdout


def test_execute_shows_live_progress_on_a_terminal(fresh: Story) -> None:
    """Where stderr is a terminal the open tasks are drawn in place, and what is worth keeping scrolls by above them."""
    working = script(
        worker("first", call("write_file", path="first.py", file_text="x = 1\n"), finish()), worker("second", finish())
    )
    fresh.plan(PLAN)
    screen, terminal = pty.openpty()
    with serve({**working, "conversations": [*working["conversations"], review()]}) as model:
        fresh.use_model(model.base_url)
        running = subprocess.Popen(
            (*CLI, "execute", "--task", "first", "--json"),
            cwd=fresh.repository,
            env=fresh.environ | {"TERM": "xterm", "COLUMNS": "120"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=terminal,
        )
        os.close(terminal)
        drawn = read_terminal(screen)
        answer = json.loads(running.communicate()[0])
    assert running.returncode == 0
    assert answer["tasks"][0]["status"] == "completed"
    assert "\x1b[" in drawn
    assert "0/1 tasks" in drawn
    assert "first #1" in drawn
    assert "first: completed" in drawn


def test_status_watch_ends_when_nothing_runs(fresh: Story) -> None:
    """--watch follows a run to its end; without a running one it shows the screen once."""
    fresh.plan(PLAN)
    assert "no run yet" in fresh.ok("status", "--watch")
