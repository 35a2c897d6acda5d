"""Bad input: one clear message, the documented exit code, nothing lost, no traceback."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, plan_of, review, script, task, worker
from tests.support.story import Story, complaint, git, make_repository

WRITE = call("write_file", path="calc.py", file_text=SUB)
PLAN = plan_of(task("subtract"))


def in_folder(story: Story, folder: Path) -> Story:
    """The same user somewhere else."""
    return Story(folder, story.environ)


@pytest.mark.parametrize("goal", ["", "   \n"])
def test_an_empty_goal_is_a_usage_error(story: Story, goal: str) -> None:
    """A goal of nothing is refused before anything starts."""
    assert "goal is empty" in complaint(story.run("plan", goal), 2)


def not_a_repository(folder: Path) -> Path:
    """An empty folder."""
    folder.mkdir()
    return folder


def without_commits(folder: Path) -> Path:
    """A repository in which nothing was committed."""
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def bare(folder: Path) -> Path:
    """A bare clone."""
    make_repository(folder.parent / "source")
    git(folder.parent, "clone", "-q", "--bare", "source", folder.name)
    return folder


@pytest.mark.parametrize(
    ("make", "hint"), [(not_a_repository, "git init"), (without_commits, "no commits"), (bare, "bare")]
)
def test_a_folder_that_cannot_be_worked_on_is_named(
    story: Story, tmp_path: Path, make: Callable[[Path], Path], hint: str
) -> None:
    """Exit 2 and what to do, for each kind of unusable folder."""
    folder = make(tmp_path / "elsewhere")
    assert hint in complaint(in_folder(story, folder).run("execute"), 2)


def test_a_subfolder_a_detached_head_and_a_dirty_checkout_work_from_head(story: Story, model: Serve) -> None:
    """Paths are from the top level, the dirty file is named in a warning and stays as it is."""
    model(script(worker("subtract", WRITE, finish()), review()))
    (story.repository / "sub").mkdir()
    (story.repository / "sub" / "keep.txt").write_text("kept\n")
    git(story.repository, "add", "-A")
    git(story.repository, "commit", "-qm", "sub")
    git(story.repository, "checkout", "-q", "--detach")
    (story.repository / "calc.py").write_text("my own edit\n")
    inside = in_folder(story, story.repository / "sub")

    inside.plan(PLAN)
    done = inside.run("execute")

    message = complaint(done, 0)
    assert "calc.py" in message
    assert "detached" in message
    assert (story.repository / "calc.py").read_text() == "my own edit\n"
    branch = git(story.repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/orchestrate/")
    assert "subtract" in git(story.repository, "show", f"{branch}:calc.py")


def test_a_plan_file_tells_all_defects_at_once(story: Story, tmp_path: Path) -> None:
    """Unknown field, unknown dependency, cycle and a path outside: one message, exit 3."""
    path = tmp_path / "broken.yaml"
    path.write_text(
        "goal: x\ntasks:\n"
        "  - {key: a, prompt: do, colour: red, depends_on: [b], verification: ['true']}\n"
        "  - {key: b, prompt: do, depends_on: [a], files_written: ['../x'], verification: ['true']}\n"
        "  - {key: c, prompt: '', depends_on: [nowhere], verification: ['Manual test with Postman']}\n"
    )
    message = complaint(story.run("plan", "--file", str(path)), 3)
    for hint in ("colour", "nowhere", "../x", "prompt", "Postman", "line 3", "a -> b -> a"):
        assert hint in message, hint


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("execute", "nosuchplan"), "nosuchplan"),
        (("show", "nosuchid"), "nosuchid"),
        (("query", "MATCH (n RETURN n"), ""),
        (("query", "CREATE (n:Task {id: 'x'})"), ""),
        (("query", "--name", "nosuch"), "nosuch"),
        (("query", "RETURN $x AS x"), "x"),
        (("execute", "--task", "nosuch"), "nosuch"),
        (("execute", "--resume"), "resume"),
        (("execute", "--parallel", "0"), "0"),
    ],
)
def test_what_does_not_exist_or_fit_is_named(story: Story, model: Serve, arguments: tuple[str, ...], hint: str) -> None:
    """Unknown ids, tasks, queries and Cypher errors leave with 2 and name the value."""
    model(script(review()))
    story.plan(PLAN)
    assert hint in complaint(story.run(*arguments), 2)


def test_execute_without_a_plan_says_how_to_make_one(story: Story) -> None:
    """Exit 2 and the command to run."""
    assert "orchestrate plan" in complaint(story.run("execute"), 2)


def test_an_unknown_setting_names_its_nearest_neighbour(story: Story) -> None:
    """A typo in orchestrate.toml is found before anything runs."""
    (story.repository / "orchestrate.toml").write_text("[guards]\nrepetition_stopp = 3\n")
    message = complaint(story.run("status"), 2)
    assert "repetition_stopp" in message
    assert "repetition_stop" in message


def test_a_cost_limit_over_an_unknown_price_refuses_at_the_start(story: Story, model: Serve) -> None:
    """An unknown price is a state of its own: nothing is spent under a limit that cannot be kept."""
    served = model(script(worker("subtract", WRITE, finish()), review()))
    story.plan(PLAN)
    message = complaint(story.run("execute", "--max-cost", "1"), 2)
    assert "price" in message
    assert served.requests == []


def test_a_token_limit_ends_the_run_and_can_be_raised(story: Story, model: Serve) -> None:
    """--max-tokens reserves before it asks: exit 1 with the bound named, then --resume under a higher one."""
    model(script(worker("subtract", WRITE, finish()), review()))
    story.plan(PLAN)
    message = complaint(story.run("execute", "--max-tokens", "100"), 1)
    assert "100" in message
    assert story.ask("MATCH (a:Attempt) RETURN a.stopReason AS r") == [{"r": "token_limit"}]
    story.ok("execute", "--resume", "--max-tokens", "1000000")


def test_a_wrong_neo4j_is_told_from_a_wrong_password(story: Story) -> None:
    """An unreachable NEO4J_URI leaves with 4, named, within the settings' patience."""
    story.environ.update(
        NEO4J_URI="bolt://127.0.0.1:9", NEO4J_PASSWORD="secret-password", ORCHESTRATE_RUN_GRAPH_WAIT_S="1"
    )
    message = complaint(story.run("status"), 4)
    assert "127.0.0.1:9" in message
    assert "secret-password" not in message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere, so no folder is read-only to it")
def test_a_home_that_cannot_be_written_is_named(story: Story) -> None:
    """ORCHESTRATE_HOME in a read-only place: exit 2 and the way out."""
    story.environ["ORCHESTRATE_HOME"] = "/proc/orchestrate"
    assert "ORCHESTRATE_HOME" in complaint(story.run("status"), 2)


def test_a_home_on_a_read_only_file_system_is_named(story: Story) -> None:
    """As above, for root too: /proc takes no folders from anyone."""
    story.environ["ORCHESTRATE_HOME"] = "/proc/orchestrate"
    assert "ORCHESTRATE_HOME" in complaint(story.run("status"), 2)


def test_a_hostile_git_config_in_the_worktree_runs_nothing(story: Story, model: Serve, tmp_path: Path) -> None:
    """A command that re-creates .git with core.fsmonitor gets no program of its own run by our git."""
    mark = tmp_path / "pwned"
    hostile = (
        f"rm -rf .git; git init -q . ; git config core.fsmonitor 'touch {mark}'; "
        f"mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch {mark}\\n' > .git/hooks/post-checkout; "
        "chmod +x .git/hooks/*; true"
    )
    model(script(worker("subtract", call("run_command", command=hostile), WRITE, finish()), review()))
    story.plan(PLAN)

    done = story.run("execute")

    assert "Traceback" not in done.stderr
    assert not mark.exists()
    assert git(story.repository, "status", "--porcelain") == ""


def test_a_secret_in_the_environment_reaches_neither_graph_nor_model(story: Story, model: Serve) -> None:
    """The key is scrubbed from commands, and replaced where a file spells it."""
    story.environ["OPENAI_API_KEY"] = "sk-very-secret-1234567890"
    (story.repository / "notes.txt").write_text("the key is sk-very-secret-1234567890\n")
    git(story.repository, "add", "-A")
    git(story.repository, "commit", "-qm", "notes")
    served = model(script(worker("subtract", call("read_file", path="notes.txt"), call("run_command", command="env"),
                                 WRITE, finish()), review()))  # fmt: skip
    story.plan(PLAN)
    story.ok("execute")

    stored = json.dumps(story.ask("MATCH (c:ToolCall) RETURN c.result AS r, c.argumentsJson AS a"))
    assert "very-secret" not in stored
    assert "***" in stored
    assert "very-secret" not in json.dumps([dict(body) for body in served.requests])
    logged = [*story.home.rglob("*.log"), *(story.home / "graph").resolve().rglob("*.log")]
    logs = "".join(path.read_text(errors="replace") for path in logged)
    assert "very-secret" not in logs


def test_a_prompt_that_never_fits_stops_the_task_and_not_the_run(story: Story, model: Serve) -> None:
    """A model whose context is too small even for the cut window ends the attempt as context_exhausted."""
    small = {**worker("subtract", WRITE, finish()), "context_chars": 200}
    other = worker("notes", call("write_file", path="NOTES.md", file_text="# Notes\n"), finish())
    model(script(small, other, review()))
    story.environ["ORCHESTRATE_RUN_MAX_STOPPED_ATTEMPTS"] = "1"
    story.plan(plan_of(task("subtract"), task("notes", writes=["NOTES.md"])))

    complaint(story.run("execute"), 1)

    rows = story.ask("MATCH (a:Attempt) RETURN a.taskKey AS k, a.status AS s, a.stopReason AS r ORDER BY k")
    assert [tuple(row.values()) for row in rows] == [
        ("notes", "accepted", "accepted"),
        ("subtract", "stopped", "context_exhausted"),
    ]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", folder), capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("NOT TESTED HERE: a small file system cannot be mounted")
    yield folder
    subprocess.run(("umount", "--lazy", folder), check=True)


def test_a_full_disk_halts_the_run_and_costs_the_task_nothing(story: Story, model: Serve, small_disk: Path) -> None:
    """No space left: one message, the task stays pending, and with space again --resume completes it."""
    story.environ["ORCHESTRATE_HOME"] = str(small_disk / "home")
    model(script(worker("subtract", WRITE, finish()), review()))
    story.plan(plan_of(task("subtract", more="    max_attempts: 1\n")))
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)

    full = story.run("execute")

    assert full.returncode in (1, 4), full.stderr
    assert "No space left" in full.stderr
    assert "defect" not in full.stderr
    filler.unlink()
    story.ok("execute")
    assert story.ask("MATCH (t:Task) RETURN t.status AS s") == [{"s": "completed"}]
