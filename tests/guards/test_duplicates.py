"""Duplicates: what is answered from an earlier result, and what is executed again."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from orchestrator.domain.events import FileWrite, Resumed, ScopeDecided, ToolFinished, ToolRequested
from orchestrator.domain.model_io import ToolCall, ToolResult
from orchestrator.domain.verdict import Refuse
from tests.guards.scripts import START, Result, call, choke, reply

READ = call("read_file", "a.py")


def test_two_of_four_calls_are_executed() -> None:
    """pct(13), pct(88), pct(13), pct(88): two executed, two served, four answered."""
    run = choke().run([[call("pct", 13), call("pct", 88), call("pct", 13), call("pct", 88)]])
    assert run.statuses == ["ok", "ok", "duplicate", "duplicate"]


def test_153_calls_with_five_distinct_execute_five() -> None:
    """153 calls, five distinct, in one reply, of a tool that is not even pure."""
    run = choke().run([[call("run_command", n % 5) for n in range(153)]])
    assert (run.statuses.count("ok"), run.statuses.count("duplicate")) == (5, 148)


def test_a_read_is_served_across_turns() -> None:
    """An identical pure call with nothing executed since that changes something."""
    run = choke().run([[READ], [call("read_file", "b.py")], [READ]])
    assert run.statuses == ["ok", "ok", "duplicate"]


def test_a_read_after_a_write_or_a_command_is_executed() -> None:
    """Read after write is never a duplicate, nor after a command, whose ignored files no tree shows."""
    run = choke().run([[READ], [call("edit_file", "a.py=1")], [READ], [call("run_command", "make")], [READ]])
    assert run.statuses == ["ok"] * 5


def test_a_refused_write_changes_nothing() -> None:
    """What was not executed makes no read stale."""
    run = choke(allowed=("src/**",)).run([[READ], [call("write_file", "etc/x")], [READ]])
    assert run.statuses == ["ok", "refused", "duplicate"]


def test_a_refused_call_answers_its_repeats_within_the_reply() -> None:
    """157 identical writes outside the allowed paths in one reply are one refusal, every id answered."""
    run = choke(allowed=("src/**",)).run([[call("write_file", "etc/x")] * 157])
    assert run.statuses == ["refused", *["duplicate"] * 156]
    assert (run.code, run.guard_set.counters.requests_used) == (None, 1)


@pytest.mark.parametrize(
    "each",
    [
        call("read_file", "x", defect="not JSON"),
        call("teleport", "x", defect="unknown tool"),
        call("report_progress", "here"),
        call("request_budget", "5"),
    ],
    ids=lambda each: each.tool + (each.defect or ""),
)
def test_identical_calls_of_one_reply_that_are_not_executed_count_once(each: ToolCall) -> None:
    """Malformed calls, unknown tools and control tools of one reply count once for every guard too."""
    run = choke(20).run([[each] * 157, [call("read_file", 1)]])
    assert run.statuses[1:] == ["duplicate"] * 156 + ["ok"]
    assert (run.code, run.guard_set.counters.requests_used) == (None, 2)
    assert [w for w in run.warnings if w.guard != "malformed"] == []


def test_the_same_malformed_reply_again_and_again_still_stops() -> None:
    """A flood counts once a reply, and three such replies in a row stop."""
    run = choke().run([[call("read_file", "x", defect="not JSON")] * 30] * 9)
    assert run.code == "malformed_calls"


def test_the_same_refused_reply_again_and_again_still_stops() -> None:
    """A flood of one refused write, reply after reply, is a stall."""
    run = choke(allowed=()).run([[call("write_file", "x")] * 30] * 9)
    assert (run.code, run.executed) == ("stalled", 0)


def test_a_repeat_is_judged_anew_once_it_is_granted() -> None:
    """A write that was refused and then granted in the same reply is executed when it is asked for again."""
    run = choke(allowed=("src/**",))
    write = replace(call("write_file", "docs/a"), seq=11)
    guard_set, _ = run.guard_set.judge(reply(10, (write, replace(write, seq=13))))
    guard_set, refused = guard_set.judge(ToolRequested(at=START, turn_seq=10, call=write))
    guard_set, _ = guard_set.judge(
        ToolFinished(
            at=START, call=write, status="refused", result=ToolResult(text="", outcome_hash="r", duration_ms=0.0)
        )
    )
    assert isinstance(refused[0], Refuse)
    assert guard_set.earlier(write) == 11
    guard_set, _ = guard_set.judge(
        ScopeDecided(
            seq=12,
            at=START,
            call_seq=12,
            paths=("docs/**",),
            justification="",
            granted=True,
            decided_by="pm",
            reason="",
        )
    )
    assert guard_set.earlier(write) is None
    assert guard_set.judge(ToolRequested(at=START, turn_seq=10, call=replace(write, seq=13)))[1] == ()


def test_a_repeated_failure_is_judged_anew_once_a_file_has_changed() -> None:
    """Refused, then an edit in the same reply, then the same call: executed, because something changed."""
    wrote = Result(tree="t1", writes=(FileWrite(path="b", added=1, removed=0, blob="blob"),))
    run = choke(answer=lambda each: wrote if each.mutating else Result(error="gone"))
    run.run([[READ, call("search", n)] for n in range(3)])
    run.turn([READ, READ, call("edit_file", "b=1"), READ])
    assert run.statuses[-4:] == ["refused", "duplicate", "ok", "error"]


def test_a_write_within_a_batch_makes_what_follows_new() -> None:
    """Read, write, read and write A, write B, write A in one reply are all executed."""
    run = choke().run([[READ, call("edit_file", "a.py=1"), READ]])
    run.run([[call("write_file", "a.py=1"), call("write_file", "a.py=2"), call("write_file", "a.py=1")]])
    assert run.statuses == ["ok"] * 6


def test_commands_and_writes_are_never_served_across_turns() -> None:
    """Mutating or time-dependent tools are executed again."""
    run = choke().run([[call("run_command", "date")], [call("read_file", "x")], [call("run_command", "date")]])
    assert run.statuses == ["ok"] * 3


def test_failed_reads_are_executed_again_and_refused_after_the_third_failure() -> None:
    """A first failure and two more, then refused as repeated_failure, executing nothing."""
    run = choke(answer=lambda each: Result(error="gone") if each.tool == "read_file" else Result())
    run.run([[each] for n in range(4) for each in (READ, call("search", n))])
    assert run.statuses[::2] == ["error", "error", "error", "refused"]
    refusal = next(v for v in run.verdicts if isinstance(v, Refuse))
    assert (refusal.code, refusal.limit) == ("repeated_failure", 3)


def test_a_failing_test_may_be_run_again_after_every_edit() -> None:
    """A change of files makes a failed call worth another try."""
    trees = count()
    run = choke(
        answer=lambda each: Result(error="1 failed") if each.tool == "run_command" else Result(tree=f"t{next(trees)}")
    )
    run.run([[each] for n in range(9) for each in (call("run_command", "pytest"), call("edit_file", f"f{n}=1"))])
    assert "refused" not in run.statuses


def test_polling_that_fails_differently_is_not_refused() -> None:
    """Another error is news."""
    numbers = count()
    run = choke(answer=lambda _: Result(error=f"not up after try {next(numbers)}"))
    run.run([[call("run_command", "curl")]] * 9)
    assert "refused" not in run.statuses


def test_nothing_is_served_after_a_death() -> None:
    """A call in doubt may have changed anything, so a resumed attempt reads again."""
    run = choke().run([[READ]])
    run.judge(Resumed(at=START, last_event_at=START))
    run.run([[READ]])
    assert run.statuses == ["ok", "ok"]


def test_a_failed_first_call_answers_its_repeats_within_the_batch() -> None:
    """Within a batch an identical call is executed once, whatever came of it."""
    run = choke(answer=lambda _: Result(error="E")).run([[READ, READ]])
    assert run.statuses == ["error", "duplicate"]
