"""A real Neo4j that cannot be had is one failure or none, never one for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.neo4j_container import Neo4j, ask_for_neo4j, give_up


def test_one_test_fails_and_the_others_are_skipped_with_the_reason(tmp_path: Path) -> None:
    """A Neo4j that did not come up fails the first test that wants it, and skips the next ones in the same words."""
    late = Neo4j(reason="it did not come up", failure=True)
    with pytest.raises(pytest.fail.Exception, match="NO REAL NEO4J WAS TESTED: it did not come up"):
        give_up(tmp_path, late)
    for _ in range(2):
        with pytest.raises(pytest.skip.Exception, match="NO REAL NEO4J WAS TESTED: it did not come up"):
            give_up(tmp_path, late)


def test_absence_that_is_no_failure_skips_all(tmp_path: Path) -> None:
    """Without Docker, and without the demand for it, no test fails."""
    for _ in range(2):
        with pytest.raises(pytest.skip.Exception):
            give_up(tmp_path, Neo4j(reason="there is no docker command."))


@pytest.mark.parametrize(("demand", "failure"), [("1", True), ("0", False)])
def test_without_docker_the_demand_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demand: str, failure: bool
) -> None:
    """REQUIRE_NEO4J=1 makes absence a failure, and the answer is found once for the whole run."""
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.setenv("REQUIRE_NEO4J", demand)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = ask_for_neo4j(tmp_path)
    assert (found.failure, "there is no docker command" in found.reason) == (failure, True)
    monkeypatch.delenv("REQUIRE_NEO4J")
    assert ask_for_neo4j(tmp_path) == found
