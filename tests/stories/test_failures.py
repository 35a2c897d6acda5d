"""What checks show, failure by failure, where people and workers are told it."""

from __future__ import annotations

import json

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, plan_of, review, script, task, worker
from tests.support.story import Story, attempts

WRITE = call("write_file", path="calc.py", file_text=SUB)
AGAIN = call("write_file", path="calc.py", file_text=SUB + "# again\n")
SIXTY = "! grep -q subtract calc.py || ! seq -f 'src/f%02g.py:3: error: It is wrong  [name-defined]' 60"


def test_sixty_failures_are_told_one_by_one_and_can_be_read(story: Story, model: Serve) -> None:
    """Each is a node that both attempts' checks point at, the first fifty a finding each and the others one; the next
    worker, the screen and the reason of the end name the first of them and how many more there are."""
    served = model(script(worker("subtract", WRITE, finish()), worker("subtract", AGAIN, finish()), review()))
    story.plan(plan_of(task("subtract", more="    max_attempts: 2\n"), verification=SIXTY))

    assert story.run("execute").returncode == 1

    assert attempts(story) == [(1, "rejected", "gate_failed"), (2, "rejected", "gate_failed")]
    [shown] = story.ask(
        "MATCH (c:Check)-[s:SHOWED]->(f:Failure {testName: 'name-defined'}) RETURN count(DISTINCT f) AS failures, "
        "count(DISTINCT c) AS checks, sum(s.count) AS times, min(f.locus) AS first"
    )
    assert dict(shown) == {"failures": 60, "checks": 2, "times": 120, "first": "src/f01.py"}
    found = story.ask(
        "MATCH (a:Attempt {number: 1})-[:FOUND]->(f) RETURN f.message AS m, f.count AS n ORDER BY f.position"
    )
    assert (found[0]["m"], len(found)) == ("src/f01.py name-defined: It is wrong", 51)
    assert (found[-1]["m"], found[-1]["n"]) == (f"`{SIXTY}` showed 10 more failures.", 10)
    recurring = json.loads(
        story.ok("query", "--name", "recurring-failures", "--param", "limit=200", "--format", "json")
    )
    assert [row["kind"] for row in recurring].count("Failure") == 60

    told = json.dumps(served.requests[2]["messages"][1])
    assert "src/f20.py name-defined" in told and "and 31 more" in told and "src/f25.py name-defined" not in told
    [ended] = story.ask("MATCH (a:Attempt {number: 2}) RETURN a.stopDetail AS detail, a.id AS id")
    assert ended["detail"].endswith("src/f05.py name-defined: It is wrong And 46 more.")
    screen = story.ok("show", ended["id"])
    assert "and 31 more findings" in screen and screen.count("fix: ") == 1
