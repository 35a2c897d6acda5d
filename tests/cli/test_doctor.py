"""doctor: what it looks at, what it says of it, and how it leaves."""

from __future__ import annotations

import json
import os

from agents.scripted.server import serve
from tests.support.scripts import script
from tests.support.story import Story


def _doctor(story: Story, *arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
    done = story.run("doctor", "--json", *arguments)
    return done.returncode, {line["check"]: line for line in json.loads(done.stdout)}


def test_doctor_names_an_address_that_is_not_bolts(fresh: Story) -> None:
    """doctor says the same, with the same exit code."""
    fresh.environ.update(NEO4J_URI="http://localhost:7474", NEO4J_PASSWORD="x")
    code, found = _doctor(fresh)
    assert (code, found["graph"]["verdict"]) == (2, "fail")
    assert "http://localhost:7474" in found["graph"]["seen"] and "neo4j+ssc" in found["graph"]["do"]


def test_doctor_looks_by_use(fresh: Story) -> None:
    """Each check says ok, warn or fail; a missing model is a warning, since not every command needs one."""
    code, found = _doctor(fresh)
    assert code == 0
    assert {found[check]["verdict"] for check in ("package", "git", "settings", "graph")} == {"ok"}
    assert "see" in found["sandbox"]["seen"] or "read" in found["sandbox"]["seen"]
    assert found["sandbox"]["verdict"] == "warn" or os.geteuid() != 0
    assert found["model planner/worker/verifier"]["verdict"] == "warn"
    assert "ORCHESTRATE_MODEL" in found["model planner/worker/verifier"]["do"]


def test_doctor_asks_the_model(fresh: Story) -> None:
    """--model tries the endpoint: tools, structured output, usage; one that is away is exit code 4."""
    both = {"calls": [["report", {"word": "heron", "number": number}] for number in (7, 8)]}
    with serve(script({"when": {}, "replies": [both]})) as model:
        fresh.use_model(model.base_url)
        code, found = _doctor(fresh, "--model")
    assert code == 0
    assert {line["verdict"] for check, line in found.items() if check.startswith("model")} == {"ok"}
    code, found = _doctor(fresh, "--model")
    assert code == 4
    assert found["model planner/worker/verifier: endpoint"]["verdict"] == "fail"


def test_doctor_names_a_graph_that_is_away(fresh: Story) -> None:
    """A Neo4j that does not answer is said soon, with what to do; exit code 4."""
    fresh.environ.update(NEO4J_URI="bolt://127.0.0.1:1", NEO4J_PASSWORD="x")
    code, found = _doctor(fresh)
    assert code == 4
    assert found["graph"]["verdict"] == "fail"
    assert "NEO4J_URI" in found["graph"]["do"]


def test_doctor_outside_a_repository(nowhere: Story) -> None:
    """Without a repository the rest cannot be looked at; that is said, with the way to one."""
    code, found = _doctor(nowhere)
    assert code == 2
    assert found["repository"]["verdict"] == "fail"
    assert "git init" in found["repository"]["do"]


def test_doctor_warns_of_an_uncommitted_checkout(fresh: Story) -> None:
    """A dirty checkout is named: work starts from HEAD without it."""
    (fresh.repository / "new.py").write_text("")
    code, found = _doctor(fresh)
    assert (code, found["repository"]["verdict"]) == (0, "warn")
    assert "new.py" in found["repository"]["seen"]
