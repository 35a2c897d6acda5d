"""Every guard, wired: one scripted worker for each way to misbehave, all through the real command line.

One run holds them all, one task for each; the tests look at what became of each task in the graph.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from agents.scripted.server import serve
from orchestrator.domain.stop_reasons import in_words
from tests.support.replays import assert_replay_agrees
from tests.support.scripts import Conversation, call, calls, finish, plan_of, review, script, shell, task, worker
from tests.support.story import CALC, TEST_CALC, Story, make_repository


def read(path: str) -> dict[str, Any]:
    """A read_file."""
    return call("read_file", path=path)


def write(path: str, text: str) -> dict[str, Any]:
    """A write_file."""
    return call("write_file", path=path, file_text=text)


TRUE = "    verification: ['true']\n"
POLL = shell('python3 -c \'import os; print("waited", os.urandom(8).hex(), "left", os.getrandom(1)[0])\'')
WAIT = shell(
    "n=$(cat .n 2>/dev/null || echo 0); echo $((n+1)) > .n; if [ $n -ge 3 ]; then echo ready; else echo wait; fi"
)
FILES = {"calc.py": CALC, "test_calc.py": TEST_CALC, ".gitignore": ".n\n", "reverts.txt": "as it was\n"}


def flood(key: str, *replies: dict[str, Any]) -> Conversation:
    """One reply with too much of the same, then honest work."""
    return worker(key, *replies, write(f"{key}.txt", "x\n"), finish())


WORKERS: dict[str, Conversation] = {
    "spirals": worker("spirals", shell("cat calc.py")),
    "circles": worker("circles", read("calc.py"), read("test_calc.py"), shell("ls"), then="cycle 3"),
    "alternates": worker("alternates", write("alternates.txt", "one\n"), write("alternates.txt", "two\n"),
                         then="cycle 2"),
    "polls": worker("polls", *[POLL] * 9, write("polls.txt", "done\n"), finish()),
    "same-error": worker("same-error", *(read(f"missing{n % 2}.txt") for n in range(30))),
    "talks": worker("talks", {"text": "I am done, everything works."}),
    "malformed": worker("malformed", {"call": ["read_file", "{broken"]}),
    "unknown-tool": worker("unknown-tool", call("teleport", where="home"), write("unknown-tool.txt", "x\n"), finish()),
    "silent": worker("silent", *(shell(f"echo step {n} of many; cat calc.py") for n in range(120))),
    "scope-tool": worker("scope-tool", write("test_calc.py", "x"), write("scope-tool.txt", "x\n"), finish()),
    "scope-shell": worker("scope-shell", write("scope-shell.txt", "x\n"), shell("echo '#' >> test_calc.py"), finish()),
    "floods": worker("floods", calls(*[read("calc.py")] * 157), write("floods.txt", "x\n"), finish()),
    "overdraws": worker("overdraws", *(shell(f"echo {n}") for n in range(15)),
                        calls(*(shell(f"echo late {n}") for n in range(20))), finish()),
    "forks-files": worker("forks-files", *(write(f"forks-files{n}.txt", f"{n}\n") for n in range(40))),
    "echoes": worker("echoes", *(shell(f"echo word{n}") for n in range(40))),
    "caches": worker("caches", calls(*(shell(f"echo {n}") for n in range(18))), read("calc.py"), read("test_calc.py"),
                     *[read("calc.py"), read("test_calc.py")] * 20),
    "reports": worker("reports", calls(*(shell(f"echo {n}") for n in range(20))),
                      *(call("report_progress", description="word " * n) for n in range(1, 40))),
    "looks": worker("looks", *(calls(*(shell(f"echo {n} {m}") for n in range(33))) for m in range(3)),
                    call("report_progress", description="I have read it all."),
                    *(shell(f"echo {n} more") for n in range(40))),
    "reverts": worker("reverts", write("reverts.txt", "other\n"), write("reverts.txt", "as it was\n"), then="cycle 2"),
    "words-errors": worker("words-errors", *(shell(f"python3 nope.py # {n}") for n in range(20))),
    "waits": flood("waits", *[WAIT] * 4),
    "floods-scope": flood("floods-scope", calls(*[write("test_calc.py", "x")] * 157)),
    "floods-malformed": flood("floods-malformed", {"calls": [["read_file", "{broken"]] * 30}),
    "floods-unknown": flood("floods-unknown", calls(*[call("teleport", a=1)] * 157)),
    "floods-reports": flood("floods-reports", calls(*[call("report_progress", description="here")] * 8)),
    "texts": worker("texts", *[*[shell("echo a")] * 4, {"text": "Hm."}, *[shell("echo b")] * 4, {"text": "Hm."}] * 3),
    "gives-up": worker("gives-up", call("give_up", reason="The library is missing.")),
    "asks-budget": worker("asks-budget", call("request_budget", additional=500, justification="many files"),
                          call("request_budget", additional=5, justification="again"),
                          write("asks-budget.txt", "x\n"), finish()),
    "asks-scope": worker("asks-scope", call("request_scope", paths=["docs/new.md"], justification="docs belong to it"),
                         write("docs/new.md", "x\n"), write("asks-scope.txt", "x\n"), finish()),
    "asks-in-vain": worker("asks-in-vain", call("request_budget", additional=5, justification="many files"),
                           write("asks-in-vain.txt", "x\n"), finish()),
}  # fmt: skip
DECIDER = {"when": {"role": "decider"}, "replies": [
    call("submit_decision", granted=True, amount=500, paths=["docs/new.md"], reason="Justified.")]}  # fmt: skip
MUSES = {"when": {"role": "decider", "task": "asks-in-vain"}, "replies": [{"text": "Hm, let me think."}]}
BUDGETS = {"silent": 150, "looks": 150}
RECOVERS = ("polls", "unknown-tool", "scope-tool", "floods", "asks-budget", "asks-scope", "asks-in-vain", "waits",
            "floods-scope", "floods-malformed", "floods-unknown", "floods-reports")  # fmt: skip


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, lasting_graph: Path) -> Iterator[Story]:
    """The story after one run over all the workers above; an attempt that a bound stops is not followed by another."""
    folder = tmp_path_factory.mktemp("guards") / "repository"
    conversations = [*WORKERS.values(), MUSES, DECIDER, review()]
    with (
        Story(make_repository(folder, FILES)).share(lasting_graph).closing() as story,
        serve(script(*conversations)) as served,
    ):
        story.use_model(served.base_url)
        story.environ["ORCHESTRATE_RUN_MAX_STOPPED_ATTEMPTS"] = "1"
        story.plan(plan_of(*map(_task, WORKERS), verification="true"))
        done = story.run("execute", "--parallel", "2")
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        yield story


def _task(key: str) -> str:
    budget = f"    tool_call_budget: {BUDGETS.get(key, 20)}\n"
    writes = [f"{key}.txt"] if key in (*RECOVERS, "alternates", "scope-shell", "reverts") else []
    allowed = "" if writes else "    allowed_paths: ['forks-files*']\n"
    return task(key, writes=writes, more=budget + "    max_attempts: 1\n" + allowed)


def attempt(story: Story, key: str) -> dict[str, Any]:
    """The task's only attempt."""
    rows = story.ask("MATCH (:Task {key: $key})-[:HAS_ATTEMPT]->(a) RETURN a", key=key)
    assert len(rows) == 1
    properties: dict[str, Any] = rows[0]["a"]["properties"]
    return properties


def statuses(story: Story, key: str) -> list[str]:
    """The statuses of the attempt's tool calls in order, control tools left out."""
    rows = story.ask(
        "MATCH (:Task {key: $key})-[:HAS_ATTEMPT]->()-[:TOOK]->(:Turn)-[:CALLED]->(c {control: false}) "
        "RETURN c.status AS s ORDER BY c.seq",
        key=key,
    )
    return [row["s"] for row in rows]


@pytest.mark.parametrize(
    ("key", "reasons", "most_calls"),
    [
        ("spirals", {"stalled", "loop_detected"}, 5),
        ("circles", {"loop_detected"}, 9),
        ("alternates", {"thrashing", "loop_detected"}, 10),
        ("same-error", {"same_error", "loop_detected"}, 6),
        ("talks", {"no_action"}, 0),
        ("malformed", {"malformed_calls"}, 0),
        ("silent", {"no_progress"}, 100),
        ("forks-files", {"budget_exhausted"}, 20),
        ("echoes", {"budget_exhausted"}, 20),
        ("caches", {"budget_exhausted"}, 20),
        ("reports", {"budget_exhausted"}, 20),
        ("looks", {"no_progress"}, 100),
        ("reverts", {"thrashing"}, 5),
        ("words-errors", {"same_error"}, 4),
        ("texts", {"stalled"}, 8),
    ],
)
def test_a_misbehaving_worker_is_stopped_by_arithmetic(
    ended: Story, key: str, reasons: set[str], most_calls: int
) -> None:
    """The attempt ends as stopped, with the guard's reason, within its bound."""
    found = attempt(ended, key)

    assert found["status"] == "stopped"
    assert found["stopReason"] in reasons
    assert found["toolCallCount"] <= most_calls
    assert found["stopDetail"]


@pytest.mark.parametrize("key", ["spirals", "silent", "echoes", "talks"])
def test_a_stop_is_in_the_graph_with_what_was_seen_and_its_limit(ended: Story, key: str) -> None:
    """GuardEvent and Diagnosis tell why: guard, observed, limit, evidence, next action."""
    rows = ended.ask(
        "MATCH (t:Task {key: $key})-[:HAS_ATTEMPT]->(a)-[:TRIGGERED]->(g:GuardEvent {verdict: 'stop'}) "
        "MATCH (t)-[:DIAGNOSED_AS]->(d) RETURN g, d, t.status AS status, t.stopReason AS reason",
        key=key,
    )
    assert len(rows) == 1
    event, diagnosis = rows[0]["g"]["properties"], rows[0]["d"]["properties"]
    assert event["observed"] >= event["limit"] > 0
    assert event["reason"]
    assert event["evidenceJson"]
    assert diagnosis["actions"]
    assert (rows[0]["status"], rows[0]["reason"]) == ("failed", "stops_exhausted")


def test_every_stop_is_an_issue_with_its_way_out_and_its_beginning(ended: Story) -> None:
    """The error report has what the guard saw, and the first of the calls that led there."""
    for key in WORKERS:
        found = attempt(ended, key)
        report = json.loads(found["errorContextJson"])
        assert (report == {}) is (found["status"] == "accepted")
        if found["status"] == "stopped":
            assert report["guard"]["code"] == found["stopReason"] and report["advice"] and report["next"]
            assert (report["issues"], report["requiredFixes"]) == (found["issues"], found["requiredFixes"])
            assert len(found["issues"]) == len(found["requiredFixes"]) == 1
            assert report["guard"]["firstSeq"] is not None
    assert json.loads(attempt(ended, "words-errors")["errorContextJson"])["guard"]["firstSeq"] == 2


@pytest.mark.parametrize("key", RECOVERS)
def test_a_worker_that_recovers_is_not_stopped(ended: Story, key: str) -> None:
    """Polling with changing results, one unknown tool, one refusal, or one reply with a flood of one call, whatever
    comes of that call, end in acceptance."""
    assert attempt(ended, key)["status"] == "accepted"


def test_a_batch_of_157_identical_calls_is_executed_once(ended: Story) -> None:
    """Every call id is answered, one call runs."""
    assert statuses(ended, "floods") == ["ok", *["duplicate"] * 156, "ok"]
    linked = ended.ask(
        "MATCH (:Task {key: 'floods'})-[:HAS_ATTEMPT]->()-[:TOOK]->()-[:CALLED]->(c)-[:DUPLICATE_OF]->(first) "
        "RETURN count(c) AS n, count(DISTINCT first) AS firsts"
    )
    assert linked == [{"n": 156, "firsts": 1}]


def test_a_used_up_budget_is_one_finishing_turn(ended: Story) -> None:
    """After call N cached reads and reports get one refusal and then the stop, not forty more paid turns."""
    for key in ("caches", "reports"):
        rows = ended.ask(
            "MATCH (:Task {key: $key})-[:HAS_ATTEMPT]->()-[:TOOK]->(t) WHERE t.toolsWithheld RETURN count(t) AS n",
            key=key,
        )
        assert rows == [{"n": 2}]


def test_with_5_calls_left_a_batch_of_20_executes_5(ended: Story) -> None:
    """15 of 20 used: five run, fifteen are refused, and the finishing turn may finish."""
    assert statuses(ended, "overdraws") == [*["ok"] * 20, *["refused"] * 15]
    assert attempt(ended, "overdraws")["toolCallCount"] == 20


def test_a_write_out_of_scope_is_refused_for_a_tool_and_found_for_a_command(ended: Story) -> None:
    """The file tool never writes; the command's write is a finding that rejects the attempt."""
    assert statuses(ended, "scope-tool")[0] == "refused"
    assert attempt(ended, "scope-shell")["status"] == "rejected"
    findings = ended.ask(
        "MATCH (:Task {key: 'scope-shell'})-[:HAS_ATTEMPT]->()-[:FOUND]->(f) RETURN f.code AS c, f.locus AS l"
    )
    assert sorted(row["c"] for row in findings) == ["out_of_scope", "protected_file"]
    assert {row["l"] for row in findings} == {"test_calc.py"}


def test_giving_up_is_a_failure_with_the_workers_reason(ended: Story) -> None:
    """give_up ends the attempt as failed; its reason is the detail."""
    found = attempt(ended, "gives-up")
    assert (found["status"], found["stopReason"], found["stopDetail"]) == (
        "failed",
        "gave_up",
        "The library is missing.",
    )


def test_a_budget_request_is_decided_by_the_pm_once_and_at_most_by_half(ended: Story) -> None:
    """500 calls asked and granted by the PM are 10 of 20; the second request is refused."""
    rows = ended.ask(
        "MATCH (:Task {key: 'asks-budget'})-[:HAS_ATTEMPT]->()-[:REQUESTED]->(b) "
        "RETURN b.kind AS kind, b.granted AS granted, b.grantedCalls AS calls ORDER BY b.seq"
    )
    assert [tuple(row.values()) for row in rows] == [("calls", True, 10), ("calls", False, 0)]


def test_the_pm_is_asked_about_a_request_once(ended: Story) -> None:
    """A PM that answers with text has refused: a request is decided in one call."""
    rows = ended.ask(
        "MATCH (:Task {key: 'asks-in-vain'})-[:HAS_ATTEMPT]->(a)-[:REQUESTED]->(b) "
        "MATCH (r:PlanningRound)-[:TOOK]->(t) WHERE r.id STARTS WITH a.id + ':' "
        "RETURN b.granted AS granted, count(t) AS turns"
    )
    assert rows == [{"granted": False, "turns": 1}]


def test_every_recorded_attempt_replays_to_the_same_verdicts(ended: Story) -> None:
    """The GuardSet rebuilt from the graph says what the live one said."""
    with ended.graph() as graph:
        assert assert_replay_agrees(graph) == len(WORKERS)


def test_warnings_are_given_once(ended: Story) -> None:
    """80 and 95 percent are each one warning, whatever the batches."""
    rows = ended.ask(
        "MATCH (:Task {key: 'echoes'})-[:HAS_ATTEMPT]->()-[:TRIGGERED]->(g {guard: 'budget', verdict: 'warn'}) "
        "RETURN g.observed AS n ORDER BY n"
    )
    assert [row["n"] for row in rows] == [16, 19]


def test_the_reasons_reach_show_and_status(ended: Story, tmp_path: Path) -> None:
    """A user sees why without Cypher: show and status say it in words, and show the code to who asks for it."""
    spiral = attempt(ended, "spirals")
    shown = ended.ok("show", spiral["id"])
    assert f"ended: {in_words(spiral['stopReason'])}. " in shown
    assert spiral["stopReason"] not in shown
    assert f"[{spiral['stopReason']}]" in ended.ok("-v", "show", spiral["id"])
    assert "cat calc.py" in "".join(chain(shown))
    assert "stopped once, no second try" in ended.ok("status")
