"""The saved queries answer alike on every server, from a file that can be pasted into Neo4j Browser."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.errors import QueryError, UserError
from orchestrator.reports.saved_queries import parameters_of, require_parameters, saved_queries, saved_query
from orchestrator.store.graph_store import GraphStore
from tests.reports.conftest import World

NAMES = (
    "attempt-story",
    "common-issues",
    "estimate-vs-actual",
    "files-written",
    "kpis",
    "most-expensive",
    "qc-scores",
    "recurring-failures",
    "review-metrics",
    "running-now",
    "why-failed",
)
# The whole answer of each query over conftest's history; "<p>" stands for the id of p.
ANSWERS: dict[str, list[list[Any]]] = {
    "attempt-story": [
        [1, "Turn", "m", "I begin", "replied", 3, 3.0, None],
        [2, "ToolCall", "write_file", "{}", "ok", None, 1.0, None],
        [3, "Checkpoint", "progress", "did it", None, None, None, None],
        [4, "Turn", "m", "", "replied", 3, 3.0, "length"],
        [5, "ToolCall", "read_file", "{}", "ok", None, 1.0, None],
        [6, "Turn", "m", "", "replied", 3, 3.0, None],
        [7, "ToolCall", "read_file", "{}", "duplicate", None, 0.0, None],
        [8, "GuardEvent", "repetition", "same call", "stop", None, None, None],
    ],
    "common-issues": [
        ["missing_case", "review", "error", 1, 1, ["alpha"], "no zero case"],
        ["missing_case", "review", "warning", 1, 1, ["alpha"], "no zero case 2"],
    ],
    "estimate-vs-actual": [
        ["alpha", "simple", 20, 20, 20, 5, 2, 0.25, "completed", "<p>"],
        ["beta", "simple", 30, 30, 20, 101, 1, 3.37, "failed", "<p>"],
        ["delta", None, None, None, 20, 2, 1, None, "running", "<p>"],
    ],
    "files-written": [["a.py", 2, 1, 1, ["beta"], 3, 1]],
    "kpis": [[4, 3, 1, 1, 1, 0.5, 9.0, 101, 1.33, 1]],
    "most-expensive": [
        ["alpha", "A", "completed", 2, 9, 261, 0.035, 200.0, "<p>", 0],
        ["beta", "B", "failed", 1, 101, 9, None, 10.0, "<p>", 0],
        ["delta", "D", "running", 1, 2, 0, None, 1000.0, "<p>", 700],
    ],
    "qc-scores": [["m", "q", 2, 1, 0.5, 72.5, 72.5, 50]],
    "recurring-failures": [["abc", "Finding", "missing_case", "a.py", 2, ["alpha"], "no zero case"]],
    "review-metrics": [["q", 1, 2, 0, 1, 0.5, 2.0, 0, 0.0, ["missing_case"]]],
    "running-now": [
        [
            "delta", 1, "running", 2, 25, "search", '{"pattern":"x"}', "2026-01-01T04:00:00Z", "2026-01-01T04:00:01Z",
            "me", None, "<run>",
        ]
    ],
    "why-failed": [
        [
            "beta", "failed", "stops_exhausted", 1, "stopped", "loop_detected", "Loop",
            "repetition (5.0 seen, limit 5.0)", [], ["x -> exit 1"], None, None,
        ]
    ],
}  # fmt: skip


def test_saved_queries_are_those_of_the_issue() -> None:
    """Every question that the product promises has its file, and no other has."""
    assert tuple(saved_queries()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_saved_query_answers_its_question(name: str, world: World) -> None:
    """Each saved query runs read-only with its declared columns and gives the same answer on every server."""
    saved = saved_query(name)
    given = {"attempt": world.id("a3")} if name == "attempt-story" else {}
    table = world.graph.query(saved.cypher, saved.bind({"repository": world.id("r"), **given}))
    assert table.columns == saved.columns
    assert [list(row) for row in table.rows] == [
        [world.id(value[1:-1]) if isinstance(value, str) and value.startswith("<") else value for value in row]
        for row in ANSWERS[name]
    ]


@pytest.mark.parametrize("name", NAMES)
def test_saved_query_answers_an_empty_repository(name: str, any_graph: GraphStore) -> None:
    """A repository without a plan gives no error, and no rows but the key figures' zeros."""
    saved = saved_query(name)
    rows = any_graph.query(saved.cypher, saved.bind({"repository": "nothing"})).rows
    assert [list(row)[:5] for row in rows] == ([[0, 0, 0, 0, 0]] if name == "kpis" else [])


def test_why_failed_takes_a_task(world: World) -> None:
    """The question can be put about any task by its key, also one that was never tried."""
    saved = saved_query("why-failed")
    rows = world.graph.query(saved.cypher, saved.bind({"repository": world.id("r"), "task": "alpha"})).rows
    assert [(row[3], row[8]) for row in rows] == [(1, ["missing_case at a.py: no zero case"]), (2, [])]
    rows = world.graph.query(saved.cypher, saved.bind({"repository": world.id("r"), "task": "gamma"})).rows
    assert [tuple(row)[:4] for row in rows] == [("gamma", "blocked", None, None)]


def test_why_failed_says_a_sentence_once(any_graph: GraphStore) -> None:
    """A detail that its findings say, or that says them, is left out; the diagnosis stands with the last attempt."""
    suffix = uuid4().hex[:8]
    any_graph.query(REPEATED, {"s": suffix}, write=True)
    saved = saved_query("why-failed")
    rows = any_graph.query(saved.cypher, saved.bind({"repository": "r" + suffix})).rows
    told = [dict(zip(saved.columns, row, strict=True)) for row in rows]
    assert [row["stopDetail"] for row in told] == [None, None, "It is late. Go on."]
    assert [row["diagnosis"] for row in told] == [None, None, "Three attempts ended."]
    assert [row["findings"] for row in told] == [["x: One is bad.", "y: Two is bad."], ["z: Score 5. Not good."], []]


REPEATED = """
CREATE (r:Repository {id: "r" + $s})-[:HAS_PLAN]->(:Plan {id: "p" + $s, createdAt: datetime("2026-01-01T00:00:00Z")})
  -[:HAS_TASK]->(t:Task {id: "t" + $s, key: "t", status: "failed"}),
  (t)-[:DIAGNOSED_AS]->(:Diagnosis {id: "d" + $s, summary: "Three attempts ended.",
    at: datetime("2026-01-01T00:00:00Z")}),
  (t)-[:HAS_ATTEMPT]->(a:Attempt {id: "a" + $s, number: 1, stopDetail: "One is bad. Two is bad."}),
  (a)-[:FOUND]->(:Finding {id: "f1" + $s, code: "x", severity: "error", message: "One is bad.", locus: ""}),
  (a)-[:FOUND]->(:Finding {id: "f2" + $s, code: "y", severity: "error", message: "Two is bad.", locus: ""}),
  (t)-[:HAS_ATTEMPT]->(b:Attempt {id: "b" + $s, number: 2, stopDetail: "Not good."}),
  (b)-[:FOUND]->(:Finding {id: "f3" + $s, code: "z", severity: "error", message: "Score 5. Not good.", locus: ""}),
  (t)-[:HAS_ATTEMPT]->(:Attempt {id: "c" + $s, number: 3, stopDetail: "It is late. Go on."})
"""


@pytest.mark.parametrize("name", NAMES)
def test_saved_query_declares_what_it_uses(name: str) -> None:
    """The header's parameters are the statement's, and it says how to set them in Neo4j Browser."""
    saved = saved_query(name)
    assert {parameter.name for parameter in saved.parameters} == set(parameters_of(saved.cypher))
    assert [p.name for p in saved.parameters if p.required] == ["repository"]
    assert "// In Neo4j Browser first run   :param {repository: " in saved.cypher
    assert saved.title
    assert saved.description


def test_unknown_names_are_answered_with_the_nearest() -> None:
    """A misspelt query or parameter is a user's error that names the way out."""
    with pytest.raises(UserError, match="Did you mean why-failed"):
        saved_query("why-faild")
    with pytest.raises(UserError, match=r"no parameter tsk\. It takes: task"):
        saved_query("why-failed").bind({"tsk": "x"})


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("kpis", {"repository": 7}, "repository of query kpis is text; 7 is not"),
        ("most-expensive", {"limit": -1}, "limit of query most-expensive is a whole number, 0 or more; -1 is not"),
        ("most-expensive", {"limit": True}, "true is not"),
    ],
)
def test_a_value_of_another_kind_is_the_users_error(name: str, given: dict[str, Any], message: str) -> None:
    """A parameter takes what its default is: text, or a whole number from 0 on."""
    with pytest.raises(UserError, match=message):
        saved_query(name).bind(given)
    assert saved_query("most-expensive").bind({"limit": 0}) == {"limit": 0}


def test_missing_parameters_are_named() -> None:
    """Every parameter that a statement uses and nobody gave is named at once."""
    with pytest.raises(QueryError, match=r"needs \$a, \$b\. Give --param a=VALUE --param b=VALUE"):
        require_parameters("RETURN $a + $b + $c + '$d' // $e", {"c": 1})


@given(st.text(alphabet="ab'\"`/*$ \n\\", max_size=40))
def test_parameters_are_found_in_any_text(text: str) -> None:
    """Looking for parameters ends for any text and finds only names that stand in it."""
    assert all(f"${name}" in text for name in parameters_of(text))
