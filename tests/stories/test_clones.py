"""Repositories that share a graph server: told apart where their paths are equal, known again where they differ."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from orchestrator.app import App
from orchestrator.store.graph_store import GraphStore
from tests.support.scripts import plan_of, task
from tests.support.story import Story, make_repository


def user_of(repository: Path, graph: Path) -> Story:
    """A user of a repository whose id was made before the shared server was pointed at."""
    story = Story(repository)
    with App(repository, story.environ, flags={}, on_wait=lambda _message: None) as app:
        (app.home / "graph").symlink_to(graph)
    return story


def test_clones_at_one_path_are_two_repositories(tmp_path: Path, embedded_home: Path, empty_graph: GraphStore) -> None:
    """As in containers that share a Neo4j: the second clone has no plan yet, and the first one's goes with it when it
    is moved, its path with it."""
    here, away = tmp_path / "work", tmp_path / "away"
    first = user_of(make_repository(here), embedded_home / "graph")
    planned = first.plan(plan_of(task("subtract")))
    shutil.move(here, away)
    clone = user_of(make_repository(here), embedded_home / "graph")

    assert "no plan yet" in clone.run("status").stderr
    assert clone.run("show", planned["planId"]).returncode == 2
    assert json.loads(clone.ok("list", "--json")) == []
    moved = Story(away)
    assert json.loads(moved.ok("status", "--json"))["planId"] == planned["planId"]
    second = moved.plan(plan_of(task("subtract")))
    assert [row["plan"] for row in json.loads(moved.ok("list", "plans", "--json"))] == [
        second["planId"],
        planned["planId"],
    ]
    assert moved.ask("MATCH (r:Repository) RETURN r.path AS path") == [{"path": str(away)}]
