"""graph up, down and status; and a graph that cannot be used as it is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.story import Story


def test_graph_goes_up_and_down(alone: Story) -> None:
    """The embedded server starts on demand, says where it is, and stops at once; stopping it twice is no error."""
    assert json.loads(alone.ok("graph", "status", "--json"))["running"] is False
    up = json.loads(alone.ok("graph", "up", "--json"))
    assert up["running"] is True
    assert up["uri"].startswith("bolt://127.0.0.1:")
    assert Path(up["passwordFile"]).stat().st_mode & 0o077 == 0
    assert alone.ok("graph", "down") == "The embedded graph server is stopped.\n"
    assert alone.ok("graph", "down") == "The embedded graph server was not running.\n"


def test_graph_status_has_the_same_keys_for_a_neo4j(fresh: Story, real_neo4j: dict[str, str]) -> None:
    """What holds the graph is told alike: whether it runs, where, which version; a Neo4j has no pid and no files."""
    embedded = json.loads(fresh.ok("graph", "status", "--json"))
    fresh.environ.update(real_neo4j)
    status = json.loads(fresh.ok("graph", "status", "--json"))
    assert list(status) == list(embedded)
    assert (status["server"], status["running"], status["uri"]) == ("neo4j", True, real_neo4j["NEO4J_URI"])
    assert status["version"].startswith("Neo4j/")
    assert json.loads(fresh.ok("graph", "up", "--json")) == status


def test_graph_status_says_why_a_neo4j_does_not_answer(fresh: Story) -> None:
    """Not running is an answer, its cause is on stderr; `up` that cannot is exit code 4."""
    fresh.environ.update(NEO4J_URI="bolt://127.0.0.1:1", NEO4J_PASSWORD="x", ORCHESTRATE_RUN_GRAPH_WAIT_S="0")
    done = fresh.run("graph", "status", "--json")
    status = json.loads(done.stdout)
    assert (done.returncode, status["running"], status["version"]) == (0, False, None)
    assert "bolt://127.0.0.1:1 does not answer" in done.stderr
    up = fresh.run("graph", "up", "--json")
    assert (up.returncode, up.stdout) == (4, "")


@pytest.mark.parametrize("command", [["graph", "status"], ["graph", "up"], ["status"], ["query", "RETURN 1"]])
@pytest.mark.parametrize("environ", [{"NEO4J_URI": "http://localhost:7474"}, {"NEO4J_URI": "bolt://db"}])
def test_a_neo4j_that_cannot_be_used_as_named_is_configuration(
    fresh: Story, command: list[str], environ: dict[str, str]
) -> None:
    """An address that is not Bolt's, or no password: exit code 2, one message, in every command."""
    fresh.environ.update({"NEO4J_PASSWORD": "" if environ["NEO4J_URI"].startswith("bolt") else "x"} | environ)
    done = fresh.run(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1 and environ["NEO4J_URI"] in done.stderr


def test_graph_down_finds_a_server_whose_state_was_damaged(alone: Story) -> None:
    """status and down go by the server that lives; a lost password heals, and the records stay."""
    alone.ok("query", "CREATE (:File {id: 'kept', path: 'x'})", "--write")
    graph = alone.repository / ".git/orchestrate/graph"
    (graph / "server.json").write_text("{broken")
    assert json.loads(alone.ok("graph", "status", "--json"))["running"] is True
    (graph / "server.json").unlink()
    assert alone.ok("graph", "down") == "The embedded graph server is stopped.\n"
    (graph / "root-password").unlink()
    assert alone.ask("MATCH (f:File) RETURN f.id AS id") == [{"id": "kept"}]
