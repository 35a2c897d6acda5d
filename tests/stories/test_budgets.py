"""What a run, a task and an attempt may cost: kept in the graph, printed before and after, and told turn by turn."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.stories.conftest import Serve
from tests.stories.scripts import SUB, call, finish, plan_of, review, script, task, worker
from tests.stories.story import Story
from tests.stories.test_interruptions import kill, slowly, wait_until

WRITE = call("write_file", path="calc.py", file_text=SUB)
READ = call("read_file", path="calc.py")
PRICE = {"input": 2.0, "cached_input": 0.5, "output": 10.0}


def used(story: Story) -> int:
    """The tokens that status tells."""
    told = json.loads(story.ok("status", "--json"))
    return int(told["promptTokens"] + told["completionTokens"])


def test_a_turn_that_a_kill_left_open_counts_in_full(story: Story, model: Serve) -> None:
    """SIGKILL while the endpoint is thinking: --resume under what is left does not ask it again (decision 3)."""
    served = model(script(worker("subtract", slowly(READ, 20_000), attempt=1), worker("subtract", WRITE, finish()),
                          review()))  # fmt: skip
    story.plan(plan_of(task("subtract")))
    process = story.start("execute")
    wait_until(lambda: len(served.requests) == 1)
    kill(process)

    reserved = story.ask("MATCH (t:Turn {status: 'requested'}) RETURN t.reservedTokens AS n")[0]["n"]
    assert used(story) == reserved > 0
    done = story.run("execute", "--resume", "--max-tokens", str(reserved + 500))
    assert done.returncode == 1, done.stderr
    assert f"limit is {reserved + 500}" in done.stderr
    assert len(served.requests) == 1
    ruled = story.ask("MATCH (g:GuardEvent {guard: 'ledger'}) RETURN g.code AS code, g.verdict AS verdict")
    assert ruled == [{"code": "token_limit", "verdict": "stop"}]
    assert used(story) == reserved  # what the bound forbade was never sent, and costs nothing

    story.ok("execute", "--resume", "--max-tokens", "1000000")


def test_a_runs_deadline_is_not_refilled_by_a_restart(story: Story, model: Serve) -> None:
    """What an earlier process worked counts for --deadline, the time between the two does not (R4.18)."""
    steps = [slowly(READ, 2_500), slowly(READ, 20_000)]
    served = model(script(worker("subtract", *steps, attempt=1), worker("subtract", WRITE, finish()), review()))
    story.plan(plan_of(task("subtract")))
    process = story.start("execute")
    wait_until(lambda: len(served.requests) == 2)
    kill(process)

    done = story.run("execute", "--resume", "--deadline", "2s")
    assert done.returncode == 1, done.stderr
    assert "--deadline" in done.stderr
    assert len(served.requests) == 2
    story.ok("execute", "--resume", "--deadline", "10m")


@pytest.fixture
def priced(story: Story, model: Serve) -> Story:
    """A run with prices in the settings, an accepted task, and a secret among the arguments."""
    secret = "sk-story-0123456789abcdef"
    story.environ["OPENAI_API_KEY"] = secret
    for role in ("WORKER", "VERIFIER"):
        story.environ[f"ORCHESTRATE_MODELS_{role}_PRICE"] = json.dumps(PRICE)
    outside = call("write_file", path="test_calc.py", file_text="")
    steps = [
        READ,
        READ,
        {"calls": [READ["call"]] * 3},
        call("search", pattern=secret),
        WRITE,
        call("teleport"),
        outside,
    ]
    model(script(worker("subtract", *steps, finish()),
                 review()))  # fmt: skip
    story.plan(plan_of(task("subtract")))
    return story


def test_bounds_before_costs_after_and_a_line_a_turn(priced: Story) -> None:
    """The bound stands before the run, the task's cost at its end; settings' prices win, cached input apart; each turn
    is one log line without secrets, and the graph holds the same (R1.14)."""
    done = priced.run("execute", "--max-cost", "5", "--max-tokens", "1000000", "--deadline", "2h")
    assert done.returncode == 0, done.stderr
    said = done.stderr
    assert said.index("at most 120 tool calls in 6 attempts of 1 task, at most $5.00, at most 1,000,000 tokens") < (
        said.index("subtract #1 begins")
    )
    turns = priced.ask("MATCH (t:Turn) RETURN properties(t) AS t ORDER BY t.id")
    for turn in (row["t"] for row in turns):
        fresh = turn["promptTokens"] - turn["cachedTokens"]
        parts = zip((fresh, turn["cachedTokens"], turn["completionTokens"]), PRICE.values(), strict=True)
        assert turn["costUsd"] == pytest.approx(sum(count * price for count, price in parts) / 1e6)
    assert sum(row["t"]["cachedTokens"] for row in turns) > 0
    total = sum(row["t"]["costUsd"] for row in turns)
    assert json.loads(priced.ok("status", "--json"))["costUsd"] == pytest.approx(total)
    assert f"subtract: completed [1 attempt, {used(priced) / 1000:.1f}k tokens, $" in said
    _logged(priced, [row["t"] for row in turns])


def _logged(story: Story, turns: list[dict[str, Any]]) -> None:
    log = (story.repository / ".git" / "orchestrate" / "logs" / "orchestrate.log").read_text()
    assert "sk-story" not in log
    lines = [
        json.loads(line.split("orchestrate.turn ", 1)[1]) for line in log.splitlines() if "orchestrate.turn " in line
    ]
    assert Counter((line["attempt"], line["of"], line["seq"]) for line in lines).most_common(1)[0][1] == 1
    assert len(lines) == len(turns)
    mine = [line for line in lines if line["of"] == "Attempt"]
    assert [line["turn"] for line in mine] == list(range(1, len(mine) + 1))
    assert [[each["verdict"] for each in line["calls"]] for line in mine] == [
        ["unique"], ["duplicate"], ["duplicate"] * 3, ["unique"], ["unique"], ["malformed"], ["refused"], ["unique"],
    ]  # fmt: skip
    assert mine[1]["calls"][0]["why"] == f"same as call {mine[0]['calls'][0]['seq']}"
    assert (mine[2]["stallCount"], mine[-1]["callsUsed"], mine[-1]["callsLimit"]) == (3, 3, 20)
    asked = [turn for turn in turns if ":review" not in turn["id"]]
    asked.sort(key=lambda turn: turn["seq"])
    assert [turn["stallCount"] for turn in asked][:4] == [0, 1, 2, 3]
    assert [turn["callsUsed"] for turn in asked] == [0, 1, 1, 1, 2, 3, 3, 3]
    assert {(turn["callsLimit"], turn["requestsLimit"]) for turn in asked} == {(20, 60)}
    assert [turn["historyMessages"] for turn in asked][:3] == [2, 4, 6]
    refused = story.ask(
        "MATCH (g:GuardEvent {verdict: 'refuse'})-[:AT]->(c:ToolCall) RETURN c.tool AS t, c.status AS s"
    )
    assert refused == [{"t": "write_file", "s": "refused"}]


def test_a_default_budget_comes_from_history_once_there_is_some(story: Story, model: Serve) -> None:
    """Five accepted simple tasks of a few calls: the next plan's default is half the band's, and says why; a budget
    that the plan sets stands."""
    keys = [f"t{n}" for n in range(5)]
    writes = {key: call("write_file", path=f"{key}.txt", file_text=key) for key in keys}
    model(script(*(worker(key, writes[key], finish()) for key in keys), review()))
    story.plan(plan_of(*(task(key, writes=[f"{key}.txt"]) for key in keys), verification="true"))
    assert story.ask("MATCH (t:Task) RETURN DISTINCT t.toolCallBudget AS n") == [{"n": 20}]
    story.ok("execute", "--parallel", "2")

    later = plan_of(task("later"), task("set", writes=["b.txt"], more="    tool_call_budget: 33\n"))
    path = story.repository.parent / "later.yaml"
    path.write_text(later)
    assert "Budget 10 instead of 20, from the 5 simple attempts" in story.ok("plan", "--file", str(path))
    rows = story.ask("MATCH (t:Task) WHERE t.key IN ['later', 'set'] RETURN t.toolCallBudget AS n ORDER BY t.key")
    assert [row["n"] for row in rows] == [10, 33]
