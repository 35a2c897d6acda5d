"""Tests that fail now and then, and those that fail: real test tools tell them apart."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, plan_of, review, script, task, worker
from tests.support.story import Story, attempts, git

RIGHT = call("write_file", path="calc.py", file_text=SUB)
BREAKS = call("write_file", path="calc.py", file_text=SUB.replace("a + b", "0"))
NOW_AND_THEN = """import os
from pathlib import Path

from calc import add


def test_now_and_then():
    mark = Path(os.environ["XDG_CACHE_HOME"], "ran")
    ran = mark.exists()
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    assert ran, "the first time"


def test_add():
    assert add(2, 3) == 5
"""
NODE_TEST = """import assert from "node:assert";
import { describe, it } from "node:test";
import { twice } from "../twice.mjs";

describe("twice", () => {
  it("doubles (2)", () => assert.strictEqual(twice(2), 4));
  it("keeps 0", () => assert.strictEqual(twice(0), 0));
});
"""


def test_a_flaky_test_holds_nothing_up_and_a_broken_one_does(story: Story, model: Serve) -> None:
    """One that fails the first time it runs in a workspace is run again alone, passes, and is told as flaky, before the
    work and over it; the test that the first attempt breaks beside it fails again, and is all that counts."""
    (story.repository / "test_more.py").write_text(NOW_AND_THEN)
    git(story.repository, "add", "-A")
    git(story.repository, "commit", "-qm", "A flaky test")
    story.environ["ORCHESTRATE_SANDBOX_READ_PATHS"] = json.dumps([sys.prefix, sys.base_prefix])
    first, second = (worker("subtract", each, finish(), attempt=n) for n, each in ((1, BREAKS), (2, RIGHT)))
    served = model(script(first, second, review()))
    story.plan(plan_of(task("subtract"), verification=f"{sys.executable} -m pytest -q"))

    story.ok("execute")

    assert attempts(story) == [(1, "rejected", "gate_failed"), (2, "accepted", "accepted")]
    found = "MATCH (a:Attempt)-[:FOUND]->(f) RETURN a.number AS n, f.code AS code, f.locus AS locus ORDER BY n, code"
    flaky = "test_more.py::test_now_and_then"
    broken = [(1, "check_failed", name) for name in ("test_calc.py", "test_more.py")]
    told = sorted((row["n"], row["code"], row["locus"]) for row in story.ask(found))
    assert told == [*broken, (1, "flaky", flaky), (2, "flaky", flaky)]
    [decided] = story.ask("MATCH (:Attempt {number: 1})-[:CONCLUDED]->(d) RETURN size(d.fingerprints) AS failures")
    assert decided == {"failures": 2}
    shown = story.ask("MATCH (c:Check)-[:SHOWED {flaky: true}]->(f) RETURN c.phase AS p, f.testName AS t ORDER BY p")
    assert [(row["p"], row["t"]) for row in shown] == [("baseline", flaky), *[("verification", flaky)] * 2]
    assert f"(`{sys.executable} -m pytest -q`, flaky)" in str(served.requests[0]["messages"])
    assert "or is flaky" in str(served.requests[-1]["messages"])
    [accepted] = story.ask("MATCH (a:Attempt {number: 2}) RETURN a.id AS id")
    assert f"warning flaky at {flaky}: " in story.ok("show", accepted["id"])


@pytest.mark.skipif(not shutil.which("node"), reason="NOT TESTED HERE: node is not installed")
def test_the_failures_of_node_test_are_told_by_name(story: Story, model: Serve) -> None:
    """The test that fails, with its suite, is what the next worker is told, and what the graph knows it by; it was run
    again alone, and is not flaky."""
    (story.repository / "test").mkdir()
    (story.repository / "test/twice.test.mjs").write_text(NODE_TEST)
    (story.repository / "twice.mjs").write_text("export const twice = (n) => n + n;\n")
    git(story.repository, "add", "-A")
    git(story.repository, "commit", "-qm", "A test of node's")
    wrong, right = (
        call("write_file", path="twice.mjs", file_text=f"export const twice = (n) => {body};\n")
        for body in ("n", "2 * n")
    )
    first, second = (worker("double", each, finish(), attempt=n) for n, each in ((1, wrong), (2, right)))
    served = model(script(first, second, review()))
    story.plan(plan_of(task("double", writes=["twice.mjs"]), verification="node --test"))

    story.ok("execute")

    assert attempts(story) == [(1, "rejected", "gate_failed"), (2, "accepted", "accepted")]
    [shown] = story.ask("MATCH (:Check)-[s:SHOWED]->(f) RETURN f.testName AS test, f.locus AS locus, s.flaky AS flaky")
    assert dict(shown) == {"test": "twice > doubles (2)", "locus": "test/twice.test.mjs", "flaky": False}
    assert "twice > doubles (2)" in str(served.requests[-3]["messages"][1])
