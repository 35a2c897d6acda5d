"""A verification command that judges, and says what it decided in a file."""

from __future__ import annotations

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, plan_of, review, script, task, worker
from tests.support.story import Story, attempts, git

JUDGE = """import json, os, sys

done = "return a - b" in open("calc.py").read()
told = {"decision": "complete" if done else "incomplete", "check_id": sys.argv[1], "reasons": [], "fingerprints": []}
if not done:
    told |= {"reasons": ["Nothing is subtracted."], "fingerprints": ["no-subtraction"]}
if os.environ["ORCHESTRATE_CHECK_ID"] == sys.argv[1]:
    json.dump(told, open(os.environ["ORCHESTRATE_REPORTS"] + "/decision.json", "w"))
"""


def test_a_judges_decision_decides(story: Story, model: Serve) -> None:
    """Incomplete with exit code 0 rejects the work, and the next worker is told why; a file that a worker has written
    beforehand is nobody's decision."""
    (story.repository / "judge.py").write_text(JUDGE)
    git(story.repository, "add", "judge.py")
    git(story.repository, "commit", "--quiet", "-m", "A judge")
    wrong = call("write_file", path="calc.py", file_text="def add(a, b):\n    return a + b\n\n\n# nothing else\n")
    forged = call("write_file", path="decision.json", file_text='{"decision": "complete", "check_id": "any"}')
    right = call("write_file", path="calc.py", file_text=SUB)
    served = model(
        script(
            worker("subtract", wrong, forged, finish(), attempt=1),
            worker("subtract", right, finish(), attempt=2),
            review(),
        )
    )
    story.plan(plan_of(task("subtract"), verification="python3 judge.py {check_id}"))
    story.ok("execute")

    assert [ended for _, _, ended in attempts(story)] == ["gate_failed", "accepted"]
    (row,) = story.ask(
        "MATCH (c:Check {outcome: 'failed'})-[:SHOWED]->(f) RETURN c.exitCode AS code, f.testName AS name"
    )
    assert row == {"code": 0, "name": "no-subtraction"}
    told = next(str(body["messages"][1]) for body in served.requests if "Attempt: 2" in str(body["messages"][1]))
    assert "Nothing is subtracted." in told
