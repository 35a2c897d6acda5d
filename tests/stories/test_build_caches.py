"""Build caches over a run: only what checks of accepted work left reaches others."""

from __future__ import annotations

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, plan_of, review, script, task, worker
from tests.support.story import Story

LOOK = call("run_command", command="mkdir -p $GOCACHE; ls $GOCACHE; touch $GOCACHE/of-worker; ls $GOCACHE | wc -l")
CHECK = "mkdir -p $GOCACHE && cp calc.py $GOCACHE/ && python3 -m unittest -q"


def write(text: str) -> dict[str, object]:
    """A worker's change of the calculator."""
    return call("write_file", path="calc.py", file_text=text)


def test_only_checks_of_accepted_work_fill_the_plans_caches(story: Story, model: Serve) -> None:
    """A worker's second command finds what its first one cached. The next attempt finds neither that nor what checks of
    the rejected tree left; after acceptance the next task finds what the checks of the accepted tree left."""
    model(
        script(
            worker("subtract", LOOK, LOOK, write("def add(a, b):\n    return 0\n"), finish(), attempt=1),
            worker("subtract", LOOK, write(SUB), finish(), attempt=2),
            worker("notes", LOOK, call("write_file", path="NOTES.md", file_text="# Notes\n"), finish()),
            review(),
        )
    )
    story.plan(plan_of(task("subtract"), task("notes", writes=["NOTES.md"], after=["subtract"]), verification=CHECK))

    story.ok("execute")

    rows = story.ask(
        "MATCH (t:Task)-[:HAS_ATTEMPT]->(a:Attempt)-[]->(:Turn)-[:CALLED]->(c:ToolCall {tool: 'run_command'}) "
        "RETURN t.key AS task, a.number AS attempt, c.seq AS seq, c.result AS result ORDER BY task DESC, attempt, seq"
    )
    assert [(row["task"], row["attempt"], row["result"].partition("[")[0].split()) for row in rows] == [
        ("subtract", 1, ["1"]),
        ("subtract", 1, ["of-worker", "1"]),
        ("subtract", 2, ["1"]),
        ("notes", 1, ["calc.py", "2"]),
    ]
