"""The two graph servers that tests meet: an embedded one for each test process, and one real Neo4j for the whole run.

`any_graph` runs a test once per server. All tests of a process share the embedded server and its one database, so each
makes its own plans (`tests.support.samples.new_plan`) and never counts what others may have written; `empty_graph` is
for tests that do count: it is the same server, emptied first. Tests of a server's life open a home of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.store.embedded.server import embedded_stop
from orchestrator.store.graph_store import GraphStore, open_graph
from tests.support.embedded_cache import EMBEDDED
from tests.support.neo4j_container import ask_for_neo4j, give_up, run_folder

EVERYTHING = "MATCH (n) WHERE NOT n:OrchestrateSchema DETACH DELETE n"


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
    """The home of this process's embedded server, which is stopped at the end."""
    home = tmp_path_factory.mktemp("graph_home")
    yield home
    embedded_stop(home)


@pytest.fixture(scope="session")
def embedded_graph(embedded_home: Path) -> Iterator[GraphStore]:
    """A connection to this process's embedded server, for as long as the process lives."""
    with open_graph(embedded_home, EMBEDDED, wait_s=60.0) as graph:
        yield graph


@pytest.fixture
def empty_graph(embedded_graph: GraphStore) -> GraphStore:
    """The same connection, to a graph that has its schema and no record."""
    embedded_graph.query(EVERYTHING, write=True)
    return embedded_graph


@pytest.fixture
def real_neo4j(pytestconfig: pytest.Config) -> dict[str, str]:
    """The environment of a real Neo4j."""
    folder = run_folder(pytestconfig)
    found = ask_for_neo4j(folder)
    if found.reason:
        give_up(folder, found)
    return found.environ


@pytest.fixture(params=["embedded", "neo4j"])
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


def wants_neo4j(item: pytest.Item) -> bool:
    """Whether a test will ask for the real Neo4j."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return "real_neo4j" in getattr(item, "fixturenames", ()) or parameters.get("graph_server") == "neo4j"
