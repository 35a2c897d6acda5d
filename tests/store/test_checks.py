"""What checks came to, as the graph keeps it."""

from __future__ import annotations

import dataclasses

from orchestrator.domain.attempt import Check
from orchestrator.domain.failure import Failure, ShownFailure, TestsSeen
from orchestrator.gates.checks import passed_over, reused
from orchestrator.store.graph_store import GraphStore
from tests.support.samples import T0, claimed, opened


def test_a_check_that_was_not_run_again_names_the_one_that_was(any_graph: GraphStore) -> None:
    """The tree, and the check whose result it is, come back as written; what an older release wrote names neither."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    older = Check(f"{claim.attempt_id}:c1", "lint", 0, "passed", 9.0, "", T0, "verification", "pass1")
    ran = dataclasses.replace(older, id=f"{claim.attempt_id}:c2", command="pytest", tree="tree1")
    again = reused(ran, check_id=f"{claim.attempt_id}:c3", phase="merge", pass_id="merge1", at=T0)
    any_graph.record_checks(claim, [older, ran, again])
    read = any_graph.attempt(claim.attempt_id).checks
    assert read == (older, ran, again)
    assert passed_over("tree1", read) == {"pytest": ran}


def test_what_checks_showed_is_one_node_for_each_fingerprint(any_graph: GraphStore) -> None:
    """Failures come back in their order and with their counts; two checks that show one share its node, and of the
    tests the graph has the numbers."""
    _, run = opened(any_graph, 1)
    claim = claimed(any_graph, run)
    known = Failure.of("pytest", test_name="t.py::a", locus="t.py", signature="AssertionError")
    other = Failure.of("pytest", package="tiny")
    check = Check(f"{claim.attempt_id}:c1", "pytest", 1, "failed", 9.0, "", T0, "verification", "pass1")
    first = dataclasses.replace(check, failures=(ShownFailure(other), ShownFailure(known, 5)))
    again = dataclasses.replace(check, id=f"{claim.attempt_id}:c2", phase="merge", failures=(ShownFailure(known),))
    seen = TestsSeen(("t.py::a", "t.py::b"), ("t.py::c",))
    any_graph.record_checks(claim, [dataclasses.replace(first, tests=seen)])
    any_graph.record_checks(claim, [again])
    assert any_graph.attempt(claim.attempt_id).checks == (first, again)
    rows = any_graph.query(
        "MATCH (:Attempt {id: $id})-[:CHECKED_BY]->(c)-[s:SHOWED]->(f:Failure {fingerprint: $fingerprint}) "
        "RETURN f.id, f.testName, s.count, c.testsRan, c.testsSkipped ORDER BY c.id",
        {"id": claim.attempt_id, "fingerprint": known.fingerprint},
    ).rows
    assert [row[1:] for row in rows] == [["t.py::a", 5, 2, 1], ["t.py::a", 1, None, None]]
    assert rows[0][0] == rows[1][0]
