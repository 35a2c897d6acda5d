"""plan, execute, doctor and graph as a user meets them: output, exit codes, what a failure ends with."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agents.scripted.server import serve
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


def _doctor(story: Story, *arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
    done = story.run("doctor", "--json", *arguments)
    return done.returncode, {line["check"]: line for line in json.loads(done.stdout)}


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
    assert set(answer) == {"runId", "planId", "branch", "status", "costUsd", "tasks"}
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


def test_graph_goes_up_and_down(alone: Story) -> None:
    """The embedded server starts on demand, says where it is, and stops at once; stopping it twice is no error."""
    assert json.loads(alone.ok("graph", "status", "--json"))["running"] is False
    up = json.loads(alone.ok("graph", "up", "--json"))
    assert up["running"] is True
    assert up["uri"].startswith("bolt://127.0.0.1:")
    assert Path(up["passwordFile"]).stat().st_mode & 0o077 == 0
    assert alone.ok("graph", "down") == "The embedded graph server is stopped.\n"
    assert alone.ok("graph", "down") == "The embedded graph server was not running.\n"


def test_graph_status_has_the_same_keys_for_a_neo4j(fresh: Story, real_neo4j: dict[str, str]) -> None:
    """What holds the graph is told alike: whether it runs, where, which version; a Neo4j has no pid and no files."""
    embedded = json.loads(fresh.ok("graph", "status", "--json"))
    fresh.environ.update(real_neo4j)
    status = json.loads(fresh.ok("graph", "status", "--json"))
    assert list(status) == list(embedded)
    assert (status["server"], status["running"], status["uri"]) == ("neo4j", True, real_neo4j["NEO4J_URI"])
    assert status["version"].startswith("Neo4j/")
    assert json.loads(fresh.ok("graph", "up", "--json")) == status


def test_graph_status_says_why_a_neo4j_does_not_answer(fresh: Story) -> None:
    """Not running is an answer, its cause is on stderr; `up` that cannot is exit code 4."""
    fresh.environ.update(NEO4J_URI="bolt://127.0.0.1:1", NEO4J_PASSWORD="x", ORCHESTRATE_RUN_GRAPH_WAIT_S="0")
    done = fresh.run("graph", "status", "--json")
    status = json.loads(done.stdout)
    assert (done.returncode, status["running"], status["version"]) == (0, False, None)
    assert "bolt://127.0.0.1:1 does not answer" in done.stderr
    up = fresh.run("graph", "up", "--json")
    assert (up.returncode, up.stdout) == (4, "")


@pytest.mark.parametrize("command", [["graph", "status"], ["graph", "up"], ["status"], ["query", "RETURN 1"]])
@pytest.mark.parametrize("environ", [{"NEO4J_URI": "http://localhost:7474"}, {"NEO4J_URI": "bolt://db"}])
def test_a_neo4j_that_cannot_be_used_as_named_is_configuration(
    fresh: Story, command: list[str], environ: dict[str, str]
) -> None:
    """An address that is not Bolt's, or no password: exit code 2, one message, in every command."""
    fresh.environ.update({"NEO4J_PASSWORD": "" if environ["NEO4J_URI"].startswith("bolt") else "x"} | environ)
    done = fresh.run(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1 and environ["NEO4J_URI"] in done.stderr


def test_doctor_names_an_address_that_is_not_bolts(fresh: Story) -> None:
    """doctor says the same, with the same exit code."""
    fresh.environ.update(NEO4J_URI="http://localhost:7474", NEO4J_PASSWORD="x")
    code, found = _doctor(fresh)
    assert (code, found["graph"]["verdict"]) == (2, "fail")
    assert "http://localhost:7474" in found["graph"]["seen"] and "neo4j+ssc" in found["graph"]["do"]


def test_graph_down_finds_a_server_whose_state_was_damaged(alone: Story) -> None:
    """status and down go by the server that lives; a lost password heals, and the records stay."""
    alone.ok("query", "CREATE (:File {id: 'kept', path: 'x'})", "--write")
    graph = alone.repository / ".git/orchestrate/graph"
    (graph / "server.json").write_text("{broken")
    assert json.loads(alone.ok("graph", "status", "--json"))["running"] is True
    (graph / "server.json").unlink()
    assert alone.ok("graph", "down") == "The embedded graph server is stopped.\n"
    (graph / "root-password").unlink()
    assert alone.ask("MATCH (f:File) RETURN f.id AS id") == [{"id": "kept"}]


def test_a_parameter_that_no_graph_can_hold_is_the_users_error(fresh: Story) -> None:
    """More than 64 bits: exit code 2, not a defect of ours."""
    done = fresh.run("query", "RETURN $n", "--param", f"n={2**64}")
    assert done.returncode == 2 and "64 bits" in done.stderr


def test_doctor_looks_by_use(fresh: Story) -> None:
    """Each check says ok, warn or fail; a missing model is a warning, since not every command needs one."""
    code, found = _doctor(fresh)
    assert code == 0
    assert {found[check]["verdict"] for check in ("package", "git", "settings", "graph")} == {"ok"}
    assert found["model planner/worker/verifier"]["verdict"] == "warn"
    assert "ORCHESTRATE_MODEL" in found["model planner/worker/verifier"]["do"]


def test_doctor_asks_the_model(fresh: Story) -> None:
    """--model tries the endpoint: tools, structured output, usage; one that is away is exit code 4."""
    both = {"calls": [["report", {"word": "heron", "number": number}] for number in (7, 8)]}
    with serve(script({"when": {}, "replies": [both]})) as model:
        fresh.use_model(model.base_url)
        code, found = _doctor(fresh, "--model")
    assert code == 0
    assert {line["verdict"] for check, line in found.items() if check.startswith("model")} == {"ok"}
    code, found = _doctor(fresh, "--model")
    assert code == 4
    assert found["model planner/worker/verifier: endpoint"]["verdict"] == "fail"


def test_doctor_names_a_graph_that_is_away(fresh: Story) -> None:
    """A Neo4j that does not answer is said soon, with what to do; exit code 4."""
    fresh.environ.update(NEO4J_URI="bolt://127.0.0.1:1", NEO4J_PASSWORD="x")
    code, found = _doctor(fresh)
    assert code == 4
    assert found["graph"]["verdict"] == "fail"
    assert "NEO4J_URI" in found["graph"]["do"]


def test_doctor_outside_a_repository(nowhere: Story) -> None:
    """Without a repository the rest cannot be looked at; that is said, with the way to one."""
    code, found = _doctor(nowhere)
    assert code == 2
    assert found["repository"]["verdict"] == "fail"
    assert "git init" in found["repository"]["do"]


def test_doctor_warns_of_an_uncommitted_checkout(fresh: Story) -> None:
    """A dirty checkout is named: work starts from HEAD without it."""
    (fresh.repository / "new.py").write_text("")
    code, found = _doctor(fresh)
    assert (code, found["repository"]["verdict"]) == (0, "warn")
    assert "new.py" in found["repository"]["seen"]


def test_demo_without_bubblewrap(tmp_path: Path) -> None:
    """The demo goes as told under Landlock, and where no sandbox at all can be had it says so and runs without. With -v
    it tells all of it."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for program in Path(folder).glob("*"):
            if program.name != "bwrap" and not (programs / program.name).exists():
                (programs / program.name).symlink_to(program)
    story = Story(tmp_path)
    story.environ["PATH"] = str(programs)
    done = story.spawn("-v", "demo", "--into", "sample")
    with Story(tmp_path / "sample").closing():
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
        drawn = _read_all(screen)
        answer = json.loads(running.communicate()[0])
    assert running.returncode == 0
    assert answer["tasks"][0]["status"] == "completed"
    assert "\x1b[" in drawn
    assert "0/1 tasks" in drawn
    assert "first #1" in drawn
    assert "first: completed" in drawn


def _read_all(screen: int) -> str:
    """What a terminal was sent until its last writer has left."""
    drawn = b""
    try:
        while piece := os.read(screen, 65536):
            drawn += piece
    except OSError:  # Linux says EIO where others say end of file
        pass
    os.close(screen)
    return drawn.decode("utf-8", "replace")


def test_status_watch_ends_when_nothing_runs(fresh: Story) -> None:
    """--watch follows a run to its end; without a running one it shows the screen once."""
    fresh.plan(PLAN)
    assert "no run yet" in fresh.ok("status", "--watch")
