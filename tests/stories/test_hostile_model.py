"""A model that sends whatever breaks programs: the run ends well, and nothing of it reaches the terminal raw."""

from __future__ import annotations

import json

from tests.stories.conftest import Serve
from tests.support.scripts import SUB, call, finish, met, plan_of, review, script, task, worker
from tests.support.story import Story

ESCAPE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e[bold red]"
WRITE = call("write_file", path="calc.py", file_text=SUB)


def raw(tool: str, arguments: str) -> dict[str, object]:
    """A call whose arguments are this text."""
    return {"call": [tool, arguments]}


STRANGE = [
    call(f"tool{ESCAPE}", path="x"),
    call("read_file", path=f"{ESCAPE}.py"),
    call("list_files"),
    raw("run_command", '{"command": "echo \\ud800 > /dev/null; true"}'),
    call("read_file", path="calc.py"),
    raw("run_command", '{"command": "true", "timeout_s": 1e999}'),
    raw("request_budget", json.dumps({"additional": 10**30, "justification": "all"})),
    call("list_files", path="."),
    raw("read_file", "[" * 100_000),
    call("run_command", command=f"printf '{ESCAPE}\\000'"),
    raw("read_file", '{"path": "calc.py", "offset": 1' + "0" * 30 + "}"),
    call("run_command", command="echo ok"),
    call("report_progress", description=ESCAPE + "\ud800"),
    call("request_scope", paths=["**"], justification=ESCAPE),
]


def test_a_hostile_model_breaks_neither_run_nor_terminal(story: Story, model: Serve) -> None:
    """Escapes, markup, lone surrogates, huge numbers and endless brackets in names, arguments, results and reviews:
    each is answered, the attempt is accepted, and no control character comes out."""
    answer = {"code": ESCAPE, "severity": "info", "message": ESCAPE, "locus": ESCAPE, "required_fix": ESCAPE}
    denies = {"when": {"role": "decider"}, "replies": [
        call("submit_decision", granted=True, amount=10, paths=["**", "../x"], reason=ESCAPE)]}  # fmt: skip
    model(
        script(
            worker("subtract", *STRANGE, WRITE, finish(ESCAPE)),
            denies,
            review(feedback=ESCAPE, findings=[answer], criteria=[met(ESCAPE)]),
        )
    )
    told = f"    title: {json.dumps(ESCAPE)}\n    acceptance_criteria: [{json.dumps(ESCAPE)}]\n"
    story.plan(plan_of(task("subtract", more=told)))

    done = story.run("execute")

    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    (attempt,) = story.ask("MATCH (a:Attempt) RETURN a.id AS id")
    shown = [story.run("show", attempt["id"]), story.run("show", "subtract"), story.run("status"), done]
    shown += [
        story.run("query", "MATCH (c:ToolCall) RETURN c.tool, c.argumentsJson, c.result"),
        story.run("plan", "--help"),
    ]
    for outcome in shown:
        assert outcome.returncode == 0, outcome.stderr
        assert not set(outcome.stdout + outcome.stderr) & set("\x1b\x07\x9b\u202e"), outcome.args
