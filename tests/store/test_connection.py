"""Connecting, the schema, and graphs that are away or not ours."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import neo4j
import pytest
from neo4j.exceptions import Neo4jError

from orchestrator.domain.errors import GraphError, UserError
from orchestrator.store.connection import AWAY, statement
from orchestrator.store.embedded.cache import cache_folder
from orchestrator.store.embedded.server import Embedded, embedded_stop
from orchestrator.store.endpoint import GraphEndpoint, Server, neo4j_endpoint, translate
from orchestrator.store.graph_store import open_graph
from orchestrator.store.schema import SCHEMA_VERSION, check_server, schema_statements
from tests.support.embedded_cache import EMBEDDED
from tests.support.graph_servers import GraphServer
from tests.support.long_story import long_story
from tests.support.samples import T0, attempt_owner, claimed, new_plan, opened

LATE = T0 + timedelta(hours=1)
STORE = Path(__file__).resolve().parents[2] / "orchestrator/store"


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[tuple[Path, GraphEndpoint]]:
    """A home whose server runs and has no schema yet."""
    home = tmp_path / "home"
    server = Embedded(home, caches=cache_folder(EMBEDDED))
    yield home, server.locate()
    server.release()
    embedded_stop(home)


def cypher(endpoint: GraphEndpoint, text: str) -> None:
    """Run a statement past the adapter."""
    with neo4j.GraphDatabase.driver(endpoint.uri, auth=(endpoint.username, endpoint.password)) as driver:
        driver.execute_query(text, database_=endpoint.database)


def test_the_schema_is_created_once_and_recognised(graph_server: GraphServer) -> None:
    """Constraints, indexes and a version node; opening again changes nothing."""
    for _ in range(2):
        with graph_server.open() as graph:
            versions = graph.query("MATCH (s:OrchestrateSchema) RETURN s.version").rows
            constraints = graph.query("SHOW CONSTRAINTS").rows
            assert (list(versions), len(constraints)) == ([[SCHEMA_VERSION]], 23)


def test_many_first_connections_make_one_schema(empty: tuple[Path, GraphEndpoint]) -> None:
    """Processes that meet a new graph at once all get through."""
    home, _ = empty
    with ThreadPoolExecutor(4) as pool:
        for graph in pool.map(lambda _: open_graph(home, EMBEDDED, wait_s=30), range(4)):
            with graph:
                assert list(graph.query("MATCH (s:OrchestrateSchema) RETURN s.version").rows) == [[SCHEMA_VERSION]]


def test_foreign_nodes_under_our_labels_are_left_alone(empty: tuple[Path, GraphEndpoint]) -> None:
    """A database with somebody else's Tasks is refused, with another database as the way out; nothing is changed."""
    home, endpoint = empty
    cypher(endpoint, "CREATE (:Task {title: 'Buy milk'}), (:Unrelated {x: 1})")
    with pytest.raises(GraphError, match=r"not ours.*Task.*NEO4J_DATABASE"):
        open_graph(home, EMBEDDED, wait_s=5)
    cypher(endpoint, "MATCH (t:Task) DETACH DELETE t")
    with open_graph(home, EMBEDDED, wait_s=5) as graph:
        assert graph.query("MATCH (u:Unrelated) RETURN u.x").rows == [[1]]


def test_a_graph_of_the_first_schema_is_told_which_calls_were_executed(graph_server: GraphServer) -> None:
    """A graph that was written before calls had `executed` gets it when it is opened, as if it had been written now."""
    with graph_server.open() as graph:
        claim = claimed(graph, opened(graph, 1)[1])
        for portion in long_story():
            graph.record(attempt_owner(claim), portion)
        (orphan,) = graph.orphans(claim.run_id, LATE, [claim.owner])
        assert graph.close_interrupted(orphan, LATE)
        calls = "MATCH (:Attempt {id: $id})-[:TOOK]->()-[:CALLED]->(c:ToolCall)"
        read = f"{calls} RETURN c.seq, c.status, c.executed ORDER BY c.seq"
        written = graph.query(read, {"id": claim.attempt_id}).rows
        graph.query(f"{calls} REMOVE c.executed", {"id": claim.attempt_id}, write=True)
        graph.query("MATCH (s:OrchestrateSchema) SET s.version = 1", write=True)
    with graph_server.open() as graph:
        assert graph.query(read, {"id": claim.attempt_id}).rows == written
        assert graph.query("MATCH (s:OrchestrateSchema) RETURN s.version").rows == [[SCHEMA_VERSION]]


def test_a_schema_of_a_newer_release_is_refused(empty: tuple[Path, GraphEndpoint]) -> None:
    """An older program does not write into a newer graph."""
    home, endpoint = empty
    open_graph(home, EMBEDDED, wait_s=5).close()
    cypher(endpoint, "MATCH (s:OrchestrateSchema) SET s.version = 99")
    with pytest.raises(GraphError, match=r"version 99.*Upgrade"):
        open_graph(home, EMBEDDED, wait_s=5)


@pytest.mark.parametrize(
    ("version", "fine"), [("Neo4j/4.4.39", False), ("Neo4j/5.25.1", False), ("Neo4j/5.26.0", True)]
)
def test_a_neo4j_that_is_too_old_is_named(version: str, fine: bool) -> None:
    """5.26 LTS is the oldest that is supported."""
    server = Server("neo4j", version, "bolt://db:7687", None)
    with contextlib.nullcontext() if fine else pytest.raises(GraphError, match=r"too old: Neo4j 5\.26"):
        check_server(server)
    check_server(Server("neo4j", "Neo4j/2026.04.0", "bolt://db:7687", None))


def test_a_graph_that_is_away_is_waited_for_visibly_and_not_for_ever(tmp_path: Path) -> None:
    """Waiting is bounded and told; then exit code 4 with the way out."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    told: list[str] = []
    environ = {"NEO4J_URI": f"bolt://127.0.0.1:{port}", "NEO4J_PASSWORD": "secret-pw"}
    with pytest.raises(GraphError, match="does not answer") as caught:
        open_graph(tmp_path, environ, wait_s=0.5, on_wait=told.append)
    assert told and all(str(port) in message and "waiting up to" in message for message in told)
    assert "--resume" in str(caught.value) and "secret-pw" not in str(caught.value)
    assert caught.value.exit_code == 4


UNUSABLE = (
    "mysql://db",
    "http://127.0.0.1:7474",  # the driver has a preview of it, which needs a package that is not there
    "https://127.0.0.1:7473",
    "127.0.0.1:7687",
    "localhost",
    "bolt:/127.0.0.1",
    "bolt://",
    "bolt://db:port",
    "bolt://db:99999",
    "bolt://db?policy=x",
    "bolt://d b",
)


@pytest.mark.parametrize("uri", UNUSABLE)
def test_an_address_that_is_not_bolts_is_configuration(tmp_path: Path, uri: str) -> None:
    """The value and what is allowed, exit code 2, before anything is asked; not the driver's own list of schemes."""
    with pytest.raises(UserError) as caught:
        open_graph(tmp_path, {"NEO4J_URI": uri, "NEO4J_PASSWORD": "x"}, wait_s=0)
    said = str(caught.value)
    assert said.startswith(f"NEO4J_URI is not usable: {uri}.") and "bolt, bolt+s, bolt+ssc, neo4j, neo4j+s" in said
    assert caught.value.exit_code == 2 and "http" not in said.replace(uri, "")


def test_a_password_in_the_address_is_refused_and_not_shown(tmp_path: Path) -> None:
    """Secrets come by their own variable; the driver would print the address."""
    with pytest.raises(UserError) as caught:
        open_graph(tmp_path, {"NEO4J_URI": "neo4j://me:s3cret@db:7687", "NEO4J_PASSWORD": "x"}, wait_s=0)
    assert "s3cret" not in str(caught.value) and "neo4j://***@db:7687" in str(caught.value)
    assert "NEO4J_PASSWORD" in str(caught.value)


@pytest.mark.parametrize(
    "uri", ["bolt://db", "BOLT://db:7687", "neo4j+s://db", "neo4j://db?policy=x", "bolt://[::1]:1"]
)
def test_an_address_of_bolts_is_taken_as_it_is(uri: str) -> None:
    """All schemes of Bolt, with and without a port."""
    endpoint = neo4j_endpoint({"NEO4J_URI": uri, "NEO4J_PASSWORD": "x"})
    assert (endpoint.uri, endpoint.username, endpoint.database) == (uri, "neo4j", None)


def test_a_missing_password_is_configuration(tmp_path: Path) -> None:
    """NEO4J_URI alone is not enough: exit code 2."""
    with pytest.raises(UserError, match=r"NEO4J_PASSWORD is not") as caught:
        open_graph(tmp_path, {"NEO4J_URI": "bolt://db"}, wait_s=0)
    assert caught.value.exit_code == 2


def test_a_server_that_is_only_starting_is_waited_for_and_a_refusal_is_not() -> None:
    """An unavailable database is one that does not answer yet; wrong credentials are told at once, with the hint that a
    starting Neo4j says so too."""
    starting = Neo4jError._hydrate_neo4j(code="Neo.TransientError.General.DatabaseUnavailable", message="not up yet")
    refused = Neo4jError._hydrate_neo4j(code="Neo.ClientError.Security.Unauthorized", message="unauthorized")
    assert isinstance(starting, AWAY) and not isinstance(refused, AWAY)
    endpoint = neo4j_endpoint({"NEO4J_URI": "bolt://db", "NEO4J_PASSWORD": "x"})
    assert "does not answer: not up yet" in str(translate(starting, endpoint))
    assert "only just starting" in str(translate(refused, endpoint))


def test_a_neo4j_that_refuses_us_says_why(tmp_path: Path, real_neo4j: dict[str, str]) -> None:
    """Wrong user or password, and a database that is not there: at once, without waiting."""
    with pytest.raises(GraphError, match=r"wrong user name or password.*NEO4J_PASSWORD"):
        open_graph(tmp_path, real_neo4j | {"NEO4J_USERNAME": "nobody"}, wait_s=60)
    with pytest.raises(GraphError, match=r"no database nowhere.*NEO4J_DATABASE"):
        open_graph(tmp_path, real_neo4j | {"NEO4J_DATABASE": "nowhere"}, wait_s=60)


def test_a_closed_graph_stays_closed(graph_server: GraphServer) -> None:
    """Closing twice is fine; using it afterwards is one clear error."""
    graph = graph_server.open()
    graph.close()
    graph.close()
    with pytest.raises(GraphError, match="was closed"):
        graph.store_plan(new_plan(1))


def test_every_statement_says_what_it_is_for_and_takes_parameters_only() -> None:
    """One file per operation with a header comment; every parameter is named in it, and each file is used."""
    sources = "".join(path.read_text() for path in STORE.glob("*.py"))
    for path in sorted((STORE / "cypher").glob("*.cypher")):
        header = [line for line in path.read_text().splitlines() if line.startswith("//")]
        assert header and header[0].startswith("// Purpose: "), path.name
        used = set(re.findall(r"\$\w+", statement(path.stem)))
        assert all(name in "\n".join(header) for name in used), path.name
        assert f'"{path.stem}"' in sources, path.name
    assert len(schema_statements()) == 26
