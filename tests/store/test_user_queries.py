"""The user's own Cypher."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from orchestrator.domain.errors import QueryError
from orchestrator.store.graph_store import GraphStore
from tests.support.graph_servers import GraphServer
from tests.support.samples import new_id, new_plan


def test_answers_are_plain_values(any_graph: GraphStore) -> None:
    """Nodes and relationships as maps, instants as ISO 8601 with Z, paths as lists."""
    plan = new_plan(1)
    any_graph.store_plan(plan)
    table = any_graph.query(
        "MATCH path = (p:Plan {id: $id})-[r:HAS_TASK]->(t) "
        "RETURN p, r, path, p.createdAt AS at, {k: [t.key, null]} AS m, 1.5 AS f, date('2026-01-02') AS d",
        {"id": plan.id},
    )
    assert table.columns == ("p", "r", "path", "at", "m", "f", "d")
    node, relation, path, at, mapped, number, day = table.rows[0]
    assert node["labels"] == ["Plan"] and node["properties"]["createdAt"] == "2026-11-21T10:00:00.123456Z"
    assert relation == {"type": "HAS_TASK", "properties": {}}
    assert [step.get("labels") or step["type"] for step in path] == [["Plan"], "HAS_TASK", ["Task"]]
    assert path[0] == node
    assert (at, mapped, number, day) == ("2026-11-21T10:00:00.123456Z", {"k": ["t0", None]}, 1.5, "2026-01-02")


def test_parameters_are_typed(any_graph: GraphStore) -> None:
    """`--param k=v` is JSON, else a string."""
    values = {"n": 1, "f": 1.5, "b": False, "z": None, "s": "x", "l": [1, "a"], "m": {"k": [True]}}
    table = any_graph.query("RETURN $n, $f, $b, $z, $s, $l, $m", values)
    assert list(table.rows[0]) == list(values.values())


def test_rows_are_limited(any_graph: GraphStore) -> None:
    """A limit cuts a long answer; an empty one has no rows (and on the embedded server no columns)."""
    assert list(any_graph.query("UNWIND range(1, 100000) AS n RETURN n", limit=2).rows) == [[1], [2]]
    assert list(any_graph.query("UNWIND [] AS n RETURN n AS number").rows) == []


@pytest.mark.parametrize(
    "cypher",
    [
        "CREATE (f:File {id: $id})",
        "MERGE (f:File {id: $id})",
        "MATCH (p:Plan {id: $id}) SET p.goal = 'mine'",
        "MATCH (p:Plan {id: $id}) DETACH DELETE p",
        "MATCH (p:Plan {id: $id}) REMOVE p.goal",
        "CREATE INDEX mine IF NOT EXISTS FOR (f:File) ON (f.mine)",
        "CREATE CONSTRAINT mine IF NOT EXISTS FOR (m:Mine) REQUIRE m.id IS UNIQUE",
    ],
)
def test_a_query_may_not_write(any_graph: GraphStore, cypher: str) -> None:
    """Read-only by right of the connection: every kind of write is refused, and says how to allow it."""
    plan = new_plan(1)
    any_graph.store_plan(plan)
    with pytest.raises(QueryError, match="--write"):
        any_graph.query(cypher, {"id": plan.id})
    assert any_graph.plan(plan.id) == plan


def test_a_query_may_write_when_asked_to(any_graph: GraphStore) -> None:
    """`--write` lifts it."""
    plan = new_plan(0)
    any_graph.store_plan(plan)
    any_graph.query("MATCH (p:Plan {id: $id}) SET p.goal = 'mine'", {"id": plan.id}, write=True)
    assert any_graph.plan(plan.id).goal == "mine"


@pytest.mark.parametrize("cypher", ["MATCH (n RETURN n", "RETURN $missing", "RETURN nosuchfunction(1)", ""])
def test_wrong_cypher_is_the_users_error(any_graph: GraphStore, cypher: str) -> None:
    """Exit code 2, with what the graph says about it, whether or not writing is allowed."""
    for write in (False, True):
        with pytest.raises(QueryError) as caught:
            any_graph.query(cypher, write=write)
        assert caught.value.exit_code == 2 and "--write" not in str(caught.value)


def test_a_constraint_that_the_users_write_breaks_is_told_at_once(any_graph: GraphStore) -> None:
    """The user's writes are not repeated: they need not be repeatable."""
    name = new_id("f")
    any_graph.query("CREATE (:File {id: $id})", {"id": name}, write=True)
    with pytest.raises(QueryError):
        any_graph.query("CREATE (:File {id: $id})", {"id": name}, write=True)


@pytest.mark.parametrize(
    "cypher",
    [
        "LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row",
        "LOAD CSV FROM 'http://127.0.0.1:1/x' AS row RETURN row",
        "CALL { CREATE (f:File {id: $id}) RETURN f } RETURN f",
        "FOREACH (x IN [1] | CREATE (:File {id: $id}))",
        "CALL apoc.merge.node(['File'], {id: $id}, {}, {}) YIELD node RETURN node",
        "CREATE USER mallory SET PASSWORD 'x'",
        "SHOW USERS",
        "INSERT INTO File SET id = $id",
        "PROFILE CREATE (f:File {id: $id}) RETURN f",
    ],
)
def test_the_embedded_reader_has_no_side_door(embedded_home: Path, cypher: str) -> None:
    """No file, no URL, no users, no SQL, no procedure that writes: what is not refused does nothing."""
    name = new_id("door")
    with GraphServer("embedded", embedded_home).open() as graph:
        with contextlib.suppress(QueryError):
            assert not graph.query(cypher, {"id": name}).rows
        assert graph.query("MATCH (f:File {id: $id}) RETURN f", {"id": name}).rows == []
