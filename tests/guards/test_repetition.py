"""Repetition and cycles of (signature, outcome, tree), and the same error."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.names import names_fire_at
from orchestrator.domain.events import FileWrite, ToolFinished
from orchestrator.domain.model_io import ToolCall, ToolResult
from orchestrator.guards.cycle import Cycle
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.tree import TreeState
from tests.support.guard_scripts import START, Choke, Result, call, choke

LOOSE = GuardLimits(stall_batches=1000, repeated_failures=1000, no_news_stop=1000)
"""Stall, no news and repeated failures out of the way, so that the guard under test speaks."""


def _changing(start: str = "result") -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{start} {number}"


def finished(tree: str | None, writes: tuple[FileWrite, ...]) -> ToolFinished:
    """A command's end."""
    return ToolFinished(
        at=START,
        call=call("run_command"),
        status="ok",
        tree_after=tree,
        writes=writes,
        result=ToolResult(text="", outcome_hash="", duration_ms=0.0),
    )


def _once_each(run: Choke, tools: list[ToolCall], rounds: int) -> Choke:
    return run.run([[each] for _ in range(rounds) for each in tools])


def test_the_same_command_with_the_same_result_warns_at_3_and_stops_at_5() -> None:
    """Repetition: same signature, outcome and tree: one warning at 3, a stop at 5."""
    run = choke(limits=LOOSE).run([[call("run_command", "ls")]] * 10)
    assert run.warned("repetition") == [3]
    assert run.code == "loop_detected"
    assert run.executed == 5


def test_served_duplicates_count_for_repetition() -> None:
    """A pure read that is answered from the earlier result still repeats."""
    run = choke(limits=LOOSE).run([[call("read_file", "a")]] * 10)
    assert run.statuses == ["ok"] + ["duplicate"] * 4
    assert run.code == "loop_detected"


def test_polling_with_changing_results_never_trips() -> None:
    """The same call 200 times with a result that changes is no loop and no stall."""
    results = _changing()
    run = choke(answer=lambda _: Result(next(results)), limits=GuardLimits(progress_stop=10**6))
    run.run([[call("run_command", "tail log")]] * 200)
    assert run.code is None
    assert [w.guard for w in run.warnings if w.guard in ("repetition", "stall")] == []


def test_running_the_tests_after_every_edit_never_trips() -> None:
    """The same failing test after an edit that changed the tree is work, also with the same outcome, for a while."""
    trees = _changing("tree")
    run = choke(
        answer=lambda each: Result(tree=next(trees)) if each.tool == "edit_file" else Result("1 failed", error="E")
    )
    run.run([[each] for n in range(7) for each in (call("edit_file", f"a{n}=1"), call("run_command", "pytest"))])
    assert run.code is None


def test_eight_reads_of_different_files_in_a_row_never_trip() -> None:
    """Eight reads of distinct files are work, although a detector that sees names alone would fire."""
    run = choke().run([[call("read_file", n)] for n in range(8)])
    assert run.code is None
    assert run.warnings == []
    assert names_fire_at(["read_file"] * 8) == 7


def test_read_write_check_is_stopped_by_nine_calls() -> None:
    """A cycle of three calls with equal results over the same tree stops when its third round is full."""
    tools = [call("read_file", "a"), call("write_file", "a=1"), call("run_command", "check")]
    run = _once_each(choke(answer=lambda _: Result(tree="t")), tools, 10)
    assert run.code == "loop_detected"
    assert len(run.statuses) <= 3 * 4  # the first read saw the tree before the first write


def test_the_first_tree_that_is_seen_is_no_change() -> None:
    """Reads before the first command saw the tree that it left unchanged: nine calls are three rounds."""
    tools = [call("read_file", "a"), call("read_file", "b"), call("run_command", "ls")]
    run = _once_each(choke(answer=lambda _: Result(tree="as begun")), tools, 10)
    assert (run.code, run.executed) == ("loop_detected", 9)


def test_a_tree_is_named_by_what_changed_it() -> None:
    """Tree: the one at the start has no name of its own, also when it comes back; others have theirs."""
    seen, tree = [], TreeState()
    write = (FileWrite(path="a", added=1, removed=0, blob="b"),)
    for after, writes in (("t0", ()), (None, ()), ("t1", write), ("t1", ()), ("t0", write), ("t2", write)):
        tree = tree.after(finished(after, writes))
        seen.append(tree.id)
    assert seen == ["", "", "t1", "t1", "", "t2"]
    assert TreeState().after(finished("t1", write)).after(finished("t0", write)).id == "t0"


@pytest.mark.parametrize("period", range(2, 25))
def test_every_period_from_2_to_24_stops_after_three_rounds(period: int) -> None:
    """Cycles of period 2 to 24 stop when their third full round ends."""
    run = _once_each(choke(limits=LOOSE), [call("run_command", n) for n in range(period)], 10)
    assert run.code == "loop_detected"
    assert run.executed == 3 * period


def test_a_period_of_25_is_beyond_the_limit() -> None:
    """Repetition: what is no cycle by the limits is left to the budget."""
    assert _once_each(choke(limits=LOOSE), [call("run_command", n) for n in range(25)], 3).code is None


def test_an_improving_result_resets_a_cycle() -> None:
    """A test count that falls each round is progress."""
    failing = iter(range(100, 0, -1))
    run = choke(answer=lambda each: Result(f"{next(failing)} failed" if each.tool == "run_command" else "same"))
    _once_each(run, [call("read_file", "a"), call("run_command", "pytest")], 20)
    assert run.code is None


def test_infrastructure_errors_never_count() -> None:
    """Repetition: 429, 5xx and connection errors are nobody's loop."""
    run = choke(answer=lambda _: Result(error="503", infrastructure=True))
    run.run([[call("run_command", "fetch")]] * 30)
    assert run.code is None


def test_a_growing_tree_is_no_loop() -> None:
    """Repetition: a changing tree resets, so a command that works through a queue goes on."""
    trees = _changing()
    run = choke(answer=lambda _: Result("done", tree=next(trees)))
    assert run.run([[call("run_command", "next")]] * 40).code is None


def test_the_same_error_of_one_tool_warns_at_3_and_stops_at_4() -> None:
    """Same error: different arguments, one tool, one normalised error."""
    run = choke(answer=lambda _: Result(error="old_str not found"))
    run.run([[call("edit_file", f"a={n}")] for n in range(9)])
    assert run.warned("same_error") == [3]
    assert (run.code, run.executed) == ("same_error", 4)


def test_a_success_or_an_edit_ends_a_streak_of_errors() -> None:
    """Same error: failing, repairing another file and failing again is work."""
    trees = _changing()
    answers = {"run_command": lambda: Result(error="E"), "edit_file": lambda: Result(tree=next(trees))}
    run = choke(answer=lambda each: answers[each.tool]())
    run.run([[each] for n in range(12) for each in (call("run_command", n), call("edit_file", f"f{n}={n}"))])
    assert run.code is None


def test_differently_worded_commands_that_fail_alike_are_the_same_error() -> None:
    """Same error: the arguments say nothing; the fourth command with one error stops."""
    run = choke(answer=lambda _: Result(error="can't open file", tree="t")).run(
        [[call("run_command", n)] for n in range(9)]
    )
    assert run.warned("same_error") == [3]
    assert (run.code, run.executed) == ("same_error", 4)


def test_a_command_that_repairs_and_fails_again_is_work() -> None:
    """Same error: `sed -i ... && pytest` with the same short failure each time changes files, which ends the streak."""
    trees = _changing("tree")
    run = choke(answer=lambda _: Result(error="FAILED (failures=1)", tree=next(trees)))
    assert run.run([[call("run_command", n)] for n in range(15)]).code is None


def test_different_tests_that_fail_alike_between_edits_are_work() -> None:
    """Same error: other test commands with the same short failure, with an edit between any two of them."""
    trees = _changing("tree")
    run = choke(
        answer=lambda each: (
            Result(tree=next(trees)) if each.tool == "edit_file" else Result(error="FAILED (failures=1)")
        )
    )
    run.run([[each] for n in range(15) for each in (call("run_command", f"test {n}"), call("edit_file", f"f{n}={n}"))])
    assert run.code is None


def test_ten_equal_errors_of_one_reply_count_once() -> None:
    """Same error: the worker cannot react before it has seen the first."""
    run = choke(answer=lambda _: Result(error="E"))
    run.turn([call("read_file", n) for n in range(10)])
    assert run.code is None
    assert run.warned("same_error") == []


@given(st.lists(st.integers(0, 2), max_size=40))
def test_cycle_counts_what_a_search_over_the_whole_sequence_finds(items: list[int]) -> None:
    """The rolling counts equal a naive search, for every period and number of rounds."""
    cycle = Cycle(4)
    for item in items:
        cycle = cycle.add(item)
    for rounds in (2, 3):
        assert cycle.completed(rounds) == _naive(items, rounds)
    assert len(cycle.recent) <= 4


def _naive(items: list[int], rounds: int) -> int | None:
    for period in range(2, 5):
        tail = items[-period * rounds :]
        block = tail[-period:]
        if len(tail) == period * rounds and tail == block * rounds and len(set(block)) > 1:
            return period
    return None
