"""The two graph servers that tests meet: the embedded one always, and a real Neo4j where one can be had.

A test module or conftest imports the fixtures it wants (`from tests.graph_servers import any_graph, graph_server`).
`any_graph` runs a test once per server. All tests share one database per server, so each makes its own plans
(`tests.store.samples.new_plan`) and never counts what others may have written. The real Neo4j is the one that
NEO4J_URI names, else a container of neo4j:5.26-community where Docker answers (one for all workers of pytest-xdist,
stopped by the last one), else the test is skipped with the reason (with REQUIRE_NEO4J=1 it fails).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.store.embedded.server import embedded_stop
from orchestrator.store.graph_store import GraphStore, open_graph

IMAGE = "neo4j:5.26-community"


@dataclass(frozen=True)
class GraphServer:
    """A server under test: `environ` and `home` are what open_graph takes to reach it."""

    kind: str
    home: Path
    environ: dict[str, str] = field(default_factory=dict)

    def open(self, **options: Any) -> GraphStore:
        """A new connection, as one more client."""
        return open_graph(self.home, self.environ, **{"wait_s": 30.0} | options)


@pytest.fixture(scope="session")
def embedded_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An ORCHESTRATE_HOME whose embedded server is stopped at the end."""
    home = tmp_path_factory.mktemp("graph_home")
    yield home
    embedded_stop(home)


@pytest.fixture(scope="session")
def real_neo4j(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a real Neo4j."""
    if os.environ.get("NEO4J_URI"):
        yield {name: value for name, value in os.environ.items() if name.startswith("NEO4J_")}
        return
    reason = docker_missing()
    if reason:
        give_up = pytest.fail if os.environ.get("REQUIRE_NEO4J") == "1" else pytest.skip
        give_up(f"NO REAL NEO4J WAS TESTED: NEO4J_URI is not set and {reason}")
    with _shared_container(_shared_folder(tmp_path_factory)) as environ:
        yield environ


@pytest.fixture(scope="session", params=["embedded", "neo4j"])
def graph_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> GraphServer:
    """Each server in turn."""
    if request.param == "embedded":
        return GraphServer("embedded", request.getfixturevalue("embedded_home"))
    return GraphServer("neo4j", tmp_path_factory.mktemp("neo4j_home"), request.getfixturevalue("real_neo4j"))


@pytest.fixture
def any_graph(graph_server: GraphServer) -> Iterator[GraphStore]:
    """A connection to each server in turn."""
    with graph_server.open() as graph:
        yield graph


def docker_missing() -> str:
    """Why no container of a real Neo4j can be run here; empty when one can."""
    try:
        subprocess.run(["docker", "version"], check=True, capture_output=True, timeout=20)
        subprocess.run(["docker", "image", "inspect", IMAGE], check=True, capture_output=True, timeout=20)
    except FileNotFoundError:
        return "there is no docker command."
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return f"`{' '.join(error.cmd)}` fails (is the engine running, and the image {IMAGE} pulled?)."
    return ""


def _shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this test run know and no other run does."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own


@contextlib.contextmanager
def _shared_container(folder: Path) -> Iterator[dict[str, str]]:
    """One container for all workers: the first starts it, the last stops it."""
    state = folder / "neo4j-container.json"
    with _locked(folder):
        known = json.loads(state.read_text()) if state.exists() else _start_container() | {"users": 0}
        state.write_text(json.dumps(known | {"users": known["users"] + 1}))
    try:
        yield known["environ"]
    finally:
        with _locked(folder):
            known = json.loads(state.read_text())
            state.write_text(json.dumps(known | {"users": known["users"] - 1}))
            if known["users"] == 1:
                state.unlink()
                subprocess.run(["docker", "rm", "--force", "--volumes", known["id"]], check=False, capture_output=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "neo4j-container.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _start_container() -> dict[str, Any]:
    os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")  # the reaper's image is one more to pull
    from testcontainers.community.neo4j import Neo4jContainer

    password = secrets.token_hex(12)
    container = Neo4jContainer(IMAGE, username="neo4j", password=password)
    container.with_env("NEO4J_server_memory_heap_max__size", "512m")
    container.start()
    environ = {
        "NEO4J_URI": container.get_connection_url(),
        "NEO4J_USERNAME": "neo4j",
        "NEO4J_PASSWORD": password,
    }
    return {"environ": environ, "id": container.get_wrapped_container().id}
