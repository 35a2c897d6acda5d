"""One plan and one script on both graph servers: every saved query gives the same answer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agents.scripted.server import serve
from orchestrator.reports.saved_queries import saved_queries
from orchestrator.store.graph_store import GraphStore
from tests.support.scripts import SUB, call, finish, plan_of, review, script, task, worker
from tests.support.story import Story, clean_environment, make_repository

# What a clock or a process id is in; everything else is equal.
TIMED = frozenset({"durationMs", "startedAt", "lastEventAt", "leaseExpiresAt", "leaseOwner"})
NO_HEADING = {"code": "heading", "severity": "error", "message": "No heading.", "locus": "NOTES.md",
              "required_fix": "Add one."}  # fmt: skip
SCRIPT = script(
    worker("subtract", call("read_file", path="calc.py"), call("write_file", path="calc.py", file_text=SUB),
           call("report_progress", description="Written."), call("run_command", command="cat calc.py"), finish()),
    worker("notes", call("write_file", path="NOTES.md", file_text="Notes\n"), finish(), attempt=1),
    worker("notes", call("write_file", path="NOTES.md", file_text="# Notes\n"), finish(), attempt=2),
    worker("wrong", call("write_file", path="wrong.py", file_text="raise ValueError\n"), finish()),
    worker("circles", call("read_file", path="calc.py"), call("run_command", command="ls"), then="cycle 2"),
    worker("slow", call("read_file", path="calc.py"), call("run_command", command="echo begun; sleep 100")),
    review(False, 40, "notes", 1, feedback="No heading.", findings=[NO_HEADING]),
    review(),
)  # fmt: skip
CHECK = "    verification: ['python3 wrong.py']\n    max_attempts: 2\n"
PLAN = plan_of(
    task("subtract"),
    task("notes", writes=["NOTES.md"]),
    task("wrong", writes=["wrong.py"], more=CHECK),
    task("after", writes=["after.py"], after=["wrong"]),
    task("circles", writes=["circles.py"]),
    task("slow", writes=["slow.py"]),
    verification="python3 calc.py",
)


def test_every_saved_query_answers_alike_on_both_servers(
    tmp_path: Path, embedded_home: Path, empty_graph: GraphStore, real_neo4j: dict[str, str]
) -> None:
    """After the same run, with a failed review, a failing check, a stop and a call under way, all columns but those of
    a clock are equal."""
    here = Story(make_repository(tmp_path / "one" / "repository")).share(embedded_home / "graph")
    there = Story(make_repository(tmp_path / "two" / "repository"), clean_environment(**real_neo4j))
    with serve(SCRIPT) as model:
        here.use_model(model.base_url)
        embedded = _answers(here)
    with serve(SCRIPT) as model:
        there.use_model(model.base_url)
        neo4j = _answers(there)

    assert embedded.keys() == neo4j.keys()
    assert [name for name in saved_queries() if not any(rows for key, rows in embedded.items() if name in key)] == []
    for name, rows in embedded.items():
        assert rows == neo4j[name], name


def _answers(story: Story) -> dict[str, list[dict[str, Any]]]:
    """What every saved query answers about the run, by name and parameter."""
    planned = story.plan(PLAN)
    keys = [t["key"] for t in planned["tasks"]]
    done = story.run("execute", *(f"--task={key}" for key in keys if key != "slow"))
    assert done.returncode == 1, done.stderr
    with _call_under_way(story):
        names = _names(story, planned)
        told = [id_ for id_, name in names.items() if name in ("ATTEMPT subtract 1", "ATTEMPT circles 1")]
        asked: list[tuple[str, tuple[str, ...]]] = [(name, ()) for name in saved_queries()]
        asked += [("why-failed", (f"--param=task={key}",)) for key in ("notes", "circles")]
        asked += [("attempt-story", (f"--param=attempt={attempt}",)) for attempt in told]
        return {_named(f"{name} {flags}", names): _rows(story, name, flags, names) for name, flags in asked}


def _names(story: Story, planned: dict[str, Any]) -> dict[str, str]:
    """What to call each id, so that the answers of two graphs can be compared."""
    tasks = {t["id"]: t["key"] for t in planned["tasks"]}
    runs = story.ask(
        "MATCH (r:Run)-[:EXECUTES]->(:Plan {id: $p}) RETURN r.id AS id ORDER BY r.startedAt", p=planned["planId"]
    )
    attempts = story.ask(
        "MATCH (t:Task)-[:HAS_ATTEMPT]->(a) WHERE t.id IN $t RETURN a.id AS id, t.key AS key, a.number AS number",
        t=list(tasks),
    )
    return (
        {row["id"]: f"ATTEMPT {row['key']} {row['number']}" for row in attempts}
        | {id_: f"TASK {key}" for id_, key in tasks.items()}
        | {row["id"]: f"RUN {number}" for number, row in enumerate(runs)}
        | {planned["planId"]: "PLAN"}
    )


def _rows(story: Story, name: str, flags: tuple[str, ...], names: dict[str, str]) -> list[dict[str, Any]]:
    text = _named(story.ok("query", "--name", name, "--format", "json", *flags), names)
    return [{column: value for column, value in row.items() if column not in TIMED} for row in json.loads(text)]


def _named(text: str, names: dict[str, str]) -> str:
    for id_, name in names.items():
        text = text.replace(id_, name)
    return text


@contextmanager
def _call_under_way(story: Story) -> Iterator[None]:
    """The slow task's command runs meanwhile."""
    running = story.start("execute", "--task", "slow")
    try:
        for _ in range(300):
            rows = json.loads(story.ok("query", "--name", "running-now", "--format", "json"))
            if rows and rows[0]["lastTool"] == "run_command":
                break
            time.sleep(0.1)
        yield
    finally:
        running.kill()
        running.communicate(timeout=60)
