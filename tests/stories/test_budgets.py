"""What a run, a task and an attempt may cost: kept in the graph, printed before and after, and told turn by turn."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.stories.conftest import Serve
from tests.support.processes import kill, wait_until
from tests.support.scripts import SUB, call, finish, plan_of, review, script, slowly, task, worker
from tests.support.story import Story, git, guard_verdicts, withheld_turns

WRITE = call("write_file", path="calc.py", file_text=SUB)
READ = call("read_file", path="calc.py")
PRICE = {"input": 2.0, "cached_input": 0.5, "output": 10.0}


def used(story: Story) -> int:
    """The tokens that status tells."""
    told = json.loads(story.ok("status", "--json"))
    return int(told["promptTokens"] + told["completionTokens"])


def test_a_turn_that_a_kill_left_open_counts_in_full(story: Story, model: Serve) -> None:
    """SIGKILL while the endpoint is thinking: --resume under what is left does not ask it again."""
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

    again = story.run("execute", "--resume")
    assert again.returncode == 1, "a bound is the run's: it holds until another one is given"
    assert len(served.requests) == 1

    story.ok("execute", "--resume", "--max-tokens", "1000000")


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
    is one log line without secrets, and the graph holds the same."""
    done = priced.run("execute", "--max-cost", "5", "--max-tokens", "1000000", "--deadline", "2h")
    assert done.returncode == 0, done.stderr
    said = done.stderr
    assert said.index(
        "at most 180 tool calls in 6 attempts of 1 task (546 asked for), and 350 of their reviews, at most $5.00, "
        "at most 1,000,000 tokens"
    ) < (said.index("subtract #1 begins"))
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


def test_history_suggests_a_budget_and_sets_it_where_it_may(story: Story, model: Serve) -> None:
    """Five accepted simple tasks of a few calls: the next plan keeps its band's default and says what they took; with
    budgets.from_history that is the default, and a budget that the plan sets stands."""
    keys = [f"t{n}" for n in range(5)]
    writes = {key: call("write_file", path=f"{key}.txt", file_text=key) for key in keys}
    model(script(*(worker(key, writes[key], finish()) for key in keys), review()))
    story.plan(plan_of(*(task(key, writes=[f"{key}.txt"]) for key in keys), verification="true"))
    assert story.ask("MATCH (t:Task) RETURN DISTINCT t.toolCallBudget AS n") == [{"n": 20}]
    story.ok("execute", "--parallel", "2")

    later = plan_of(task("later"), task("set", writes=["b.txt"], more="    tool_call_budget: 33\n"))
    path = story.repository.parent / "later.yaml"
    path.write_text(later)
    assert "Of the 5 simple attempts that were accepted here, 95 % took at most 10" in story.ok(
        "plan", "--file", str(path), "--dry-run"
    )
    story.environ["ORCHESTRATE_BUDGETS_FROM_HISTORY"] = "true"
    assert "Budget 10 instead of 20, from the 5 simple attempts" in story.ok("plan", "--file", str(path))
    rows = story.ask("MATCH (t:Task) WHERE t.key IN ['later', 'set'] RETURN t.toolCallBudget AS n ORDER BY t.key")
    assert [row["n"] for row in rows] == [10, 33]


# -- the bounds of run, task and attempt (one warning at 80 %, one at 95 %, one finishing turn) ------------

NOTES = {f"note{n}.txt": f"note {n}\n" for n in range(70)}


def _reads(count: int, latency_ms: int = 0) -> list[dict[str, Any]]:
    return [slowly(call("read_file", path=f"note{n}.txt"), latency_ms) for n in range(count)]


def _noted(story: Story) -> None:
    for name, text in NOTES.items():
        (story.repository / name).write_text(text)
    git(story.repository, "add", "-A")
    git(story.repository, "commit", "-qm", "Notes")
    for role in ("WORKER", "VERIFIER"):
        story.environ[f"ORCHESTRATE_MODELS_{role}_MAX_OUTPUT_TOKENS"] = "300"


BOUNDS = {
    "attempt": ({"ORCHESTRATE_GUARDS_MAX_TOKENS": "130000"}, ()),
    "task": ({"ORCHESTRATE_RUN_TASK_MAX_TOKENS": "130000"}, ()),
    "run": ({}, ("--max-tokens", "130000")),
}


@pytest.mark.parametrize("level", BOUNDS)
def test_a_bound_warns_twice_and_grants_one_turn_to_finish(story: Story, model: Serve, level: str) -> None:
    """A worker that reads on is warned at 80 and at 95 %, then has its tools withheld for the last
    turn that fits, and asking on in it ends the attempt with the bound's code, below the bound."""
    environ, flags = BOUNDS[level]
    story.environ.update(environ, ORCHESTRATE_RUN_MAX_STOPPED_ATTEMPTS="1")
    _noted(story)
    served = model(script(worker("subtract", *_reads(70)), review()))
    story.plan(plan_of(task("subtract", more="    tool_call_budget: 90\n")))

    done = story.run("execute", *flags)

    assert done.returncode == 1, done.stderr
    guard, of_level = ("tokens", "") if level == "attempt" else ("ledger", level)
    assert guard_verdicts(story, guard, of_level) == [("warn", "token_limit")] * 2 + [("stop", "token_limit")]
    assert withheld_turns(story) == [False] * (len(served.requests) - 1) + [True]
    assert 120_000 < used(story) <= 130_000
    told = "".join(str(message) for message in served.requests[-1]["messages"])
    assert told.count("80% of what") == 1
    status, task_status = ("interrupted", "pending") if level == "run" else ("stopped", "failed")
    assert story.ask(
        "MATCH (a:Attempt)<-[:HAS_ATTEMPT]-(t) RETURN a.status AS a, a.stopReason AS r, t.status AS t"
    ) == [{"a": status, "r": "token_limit", "t": task_status}]


def test_a_worker_that_finishes_in_its_finishing_turn_is_judged_as_any_other(story: Story, model: Serve) -> None:
    """finish_task in the last turn that fits is heard: gates and review follow. Task a tells which turn that is,
    task b finishes in it."""
    story.environ.update(ORCHESTRATE_GUARDS_MAX_TOKENS="30000", ORCHESTRATE_RUN_MAX_STOPPED_ATTEMPTS="1")
    _noted(story)
    tasks = (task(key, writes=[f"{key}.txt"], more="    tool_call_budget: 60\n") for key in ("a", "b"))
    story.plan(plan_of(*tasks, verification="true"))
    steps = {key: [call("write_file", path=f"{key}.txt", file_text="x\n"), *_reads(40)] for key in ("a", "b")}
    model(script(worker("a", *steps["a"])))
    assert story.run("execute", "--task", "a").returncode == 1
    withheld = withheld_turns(story)
    assert withheld == [False] * (len(withheld) - 1) + [True]

    model(script(worker("b", *steps["b"][: len(withheld) - 1], finish()), review()))
    story.ok("execute", "--task", "b")

    assert withheld_turns(story) == [*withheld, *withheld]
    assert story.ask("MATCH (t:Task {key: 'b'}) RETURN t.status AS s") == [{"s": "completed"}]


def test_two_processes_keep_one_bound(story: Story, model: Serve) -> None:
    """Two processes at two tasks of one run reserve behind one lock: together they stay below --max-tokens, and both
    attempts can go on under a higher one."""
    _noted(story)
    served = model(script(*(worker(key, *_reads(20, 300)) for key in ("a", "b")), review()))
    tasks = (task(key, writes=[f"{key}.txt"], more="    tool_call_budget: 60\n") for key in ("a", "b"))
    story.plan(plan_of(*tasks, verification="true"))

    first = story.start("execute", "--max-tokens", "40000")
    wait_until(lambda: len(served.requests) > 1)
    second = story.start("execute", "--max-tokens", "40000")
    answers = [process.communicate(timeout=120)[1] for process in (first, second)]

    assert [first.returncode, second.returncode] == [1, 1], answers
    assert 25_000 < used(story) <= 40_000
    rows = story.ask("MATCH (a:Attempt) RETURN a.owner AS o, a.status AS s, a.stopReason AS r")
    assert len({row["o"] for row in rows}) == 2
    assert {(row["s"], row["r"]) for row in rows} == {("interrupted", "token_limit")}


def test_every_attempt_under_way_has_its_finishing_turn_at_the_runs_bound(story: Story, model: Serve) -> None:
    """Two tasks in parallel under --max-tokens: both attempts have one turn with tools withheld, none is cut off by the
    other's end, and no cause is told that nobody saw."""
    _noted(story)
    model(script(*(worker(key, *_reads(20, 300)) for key in ("a", "b")), review()))
    tasks = (task(key, writes=[f"{key}.txt"], more="    tool_call_budget: 60\n") for key in ("a", "b"))
    story.plan(plan_of(*tasks, verification="true"))

    done = story.run("execute", "--parallel", "2", "--max-tokens", "40000")

    assert done.returncode == 1, done.stderr
    assert used(story) <= 40_000
    rows = story.ask(
        "MATCH (a:Attempt)-[:TOOK]->(t:Turn {toolsWithheld: true, status: 'replied'}) "
        "RETURN a.taskKey AS k, a.stopReason AS r, count(t) AS n ORDER BY k"
    )
    assert [tuple(row.values()) for row in rows] == [("a", "token_limit", 1), ("b", "token_limit", 1)]
    assert "Interrupted by the user" not in json.dumps(story.ask("MATCH (a:Attempt) RETURN a.stopDetail AS d"))


def test_what_an_endpoint_failure_cuts_off_says_so(story: Story, model: Serve) -> None:
    """The endpoint refuses one task's worker: the other attempt is interrupted by that, not by the user."""
    _noted(story)
    refusal = {"fault": {"status": 401, "body": "no such key"}, "latency_ms": 1_000}
    model(script(worker("a", refusal), worker("b", *_reads(20, 400)), review()))
    tasks = (task(key, writes=[f"{key}.txt"], more="    tool_call_budget: 60\n") for key in ("a", "b"))
    story.plan(plan_of(*tasks, verification="true"))

    done = story.run("execute", "--parallel", "2")

    assert done.returncode == 4, done.stderr
    rows = story.ask("MATCH (a:Attempt) RETURN a.taskKey AS k, a.status AS s, a.stopReason AS r, a.stopDetail AS d")
    ended = {row["k"]: row for row in rows}
    assert (ended["a"]["s"], ended["a"]["r"]) == ("failed", "model_error")
    assert (ended["b"]["s"], ended["b"]["r"]) == ("interrupted", "interrupted")
    assert "no such key" in ended["b"]["d"]
    assert "user" not in ended["b"]["d"]
