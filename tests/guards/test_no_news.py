"""What is asked in other words, fails alike whatever is edited, or differs in figures alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.model_io import ToolCall
from orchestrator.domain.normalise import shape_hash
from orchestrator.guards.limits import GuardLimits
from tests.support.guard_scripts import Choke, Result, call, choke

ALONE = GuardLimits(progress_stop=10**6, same_error_stop=10**6, repeated_failures=10**6)
"""Guards that count calls or one tool's errors out of the way."""


def _asking(answer: Callable[[ToolCall], Result], calls: list[ToolCall]) -> Choke:
    return choke(10**6, answer, limits=ALONE).run([[each] for each in calls])


# --- no news ----------------------------------------------------------------------------------------------------------


def test_the_same_question_in_twelve_spellings_is_stopped() -> None:
    """Other flags, blanks and comments, and one answer: warned when 8 of 12 turns brought nothing new, stopped when 12
    of 16 did, however the calls are worded."""
    run = _asking(lambda _: Result("1 failed: test_a"), [call("run_command", f"pytest  # {n}") for n in range(40)])
    assert run.warned("no_news") == [8]
    assert (run.code, run.executed) == ("loop_detected", 13)


def test_an_old_answer_now_and_then_is_work() -> None:
    """Every other answer is new: looking again at what is known is no loop."""
    numbers = count()
    run = _asking(
        lambda _: Result("known" if (n := next(numbers)) % 2 else f"new {n}"),
        [call("run_command", n) for n in range(200)],
    )
    assert (run.warned("no_news"), run.code) == ([], None)


def test_a_change_of_files_makes_everything_worth_asking_again() -> None:
    """Ten questions with one answer, an edit, and ten again."""
    trees = count()
    run = choke(10**6, lambda each: Result("ok", tree=f"t{next(trees)}" if each.tool == "edit_file" else None))
    for number in range(5):
        run.turn([call("edit_file", f"a.py={number}")])
        run.run([[call("read_file", f"{number}.{n}")] for n in range(8)])
    assert run.code is None


def test_the_calls_of_one_reply_count_as_one() -> None:
    """They were asked before any was answered."""
    run = choke(10**6, lambda _: Result("empty"), limits=ALONE)
    run.run([[call("run_command", f"{turn}.{n}") for n in range(8)] for turn in range(10)])
    assert run.code is None
    assert run.warned("no_news") == [8]


@given(st.lists(st.integers(0, 30), max_size=200))
def test_where_each_call_brings_something_new_none_of_the_rules_fires(asked: list[int]) -> None:
    """Whatever is asked, in whatever order and however often."""
    numbers = count()
    run = _asking(lambda _: Result(f"new {next(numbers)}", shape="one"), [call("run_command", n) for n in asked])
    assert "no_news" not in {verdict.guard for verdict in run.warnings}
    assert run.guard_set.stopped is None or run.guard_set.stopped.guard == "figures"


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_old_answers_for_ever_are_stopped(pattern: list[int]) -> None:
    """Whatever pattern of known answers goes on for ever, in ever new words, it ends."""
    numbers, answers = count(), count()
    run = _asking(
        lambda _: Result(f"answer {pattern[next(answers) % len(pattern)]}"),
        [call("run_command", f"{next(numbers)}") for _ in range(60)],
    )
    assert run.code == "loop_detected"
    assert run.executed <= 16 + 6


# --- the same failure, whatever was edited ----------------------------------------------------------------------------


def _edit_and_test(rounds: int, files: int, failing: Callable[[int], Result]) -> Choke:
    trees, tests = count(), count()

    def answer(each: ToolCall) -> Result:
        return Result(tree=f"t{next(trees)}") if each.tool == "edit_file" else failing(next(tests))

    run = choke(10**6, answer, limits=ALONE)
    return run.run(
        [
            [each]
            for n in range(rounds)
            for each in (call("edit_file", f"f{n % files}={n}"), call("run_command", "test"))
        ]
    )


@pytest.mark.parametrize("files", [1, 5, 20])
def test_a_test_that_fails_alike_after_every_edit_is_stopped_at_its_eighth_failure(files: int) -> None:
    """Warned at 5, stopped at 8, over however many files the edits go: 16 calls."""
    run = _edit_and_test(40, files, lambda _: Result(error="E: x is None"))
    assert run.warned("same_failure") == [5]
    assert (run.code, run.executed) == ("same_error", 16)


def test_another_error_or_a_success_begins_the_count_anew() -> None:
    """Then the work moves."""
    moving = _edit_and_test(40, 3, lambda n: Result(error=f"E: line of step {n // 6}"))
    flaky = _edit_and_test(40, 3, lambda n: Result("ok") if n % 7 == 6 else Result(error="E: x is None"))
    assert (moving.code, flaky.code) == (None, None)


@given(st.lists(st.booleans(), max_size=60))
def test_eight_failures_without_another_end_between_are_needed(passes: list[bool]) -> None:
    """The longest row of equal failures decides."""
    ends = iter(passes)
    run = _edit_and_test(len(passes), 50, lambda _: Result("ok") if next(ends) else Result(error="E: x is None"))
    rows = "".join("." if ok else "x" for ok in passes)
    assert (run.code == "same_error") == ("x" * 8 in rows)


# --- figures ----------------------------------------------------------------------------------------------------------


def _shaped(text: str) -> Result:
    return Result(text, shape=shape_hash(text))


@pytest.mark.parametrize(
    "say",
    [
        lambda n: f"it is {1_700_000_000 + n * 7}\n",
        lambda n: f"root {n} 0.{n % 10} sleep\nroot {n + 1} 0.0 sh\n",
        lambda n: f"used {n * 37} of 16384 MB\n",
        lambda n: f"request {n * 2654435761 % 2**32:08x} is queued\n",
        lambda n: "".join(f"{name}: up\n" for name in sorted("abcdef", key=lambda c: hash((c, n)))),
    ],
    ids=["clock", "processes", "memory", "ids", "order of lines"],
)
def test_figures_do_not_hide_a_loop(say: Callable[[int], str]) -> None:
    """The same call in a row with outcomes that differ in figures alone: told at 6 to wait within one call, stopped at
    12."""
    numbers = count(1)
    run = _asking(lambda _: _shaped(say(next(numbers))), [call("run_command", "status")] * 40)
    assert run.warned("figures") == [6]
    assert (run.code, run.executed) == ("loop_detected", 12)


@pytest.mark.parametrize("period", [2, 3, 8, 24])
def test_a_cycle_of_figures_is_stopped_after_five_rounds(period: int) -> None:
    """Each call of it with other figures every time."""
    numbers = count()
    run = _asking(
        lambda each: _shaped(f"{each.signature} took {next(numbers)}"),
        [call("run_command", chr(ord("a") + n % period)) for n in range(8 * period)],
    )
    assert (run.code, run.executed) == ("loop_detected", 5 * period)


def test_a_word_that_changes_is_news() -> None:
    """A status that moves on in words never counts, nor does a call whose shape nobody took."""
    moving = _asking(lambda _: _shaped("build " + "x" * next(numbers)), [call("run_command", "status")] * 60)
    unknown = _asking(lambda _: Result(f"{next(numbers)}"), [call("run_command", "status")] * 60)
    assert (moving.code, unknown.code) == (None, None)


numbers = count(1)


def test_a_shape_is_what_is_left_without_figures() -> None:
    """Digits and hexadecimal words are blanked, lines sorted, temporary paths and the workspace named; words count."""
    assert shape_hash("a 12 /tmp/x1\nb 7f") == shape_hash("b 1ff\na 999 /tmp/zz")
    assert shape_hash("/work/r/a.py 3", "/work/r") == shape_hash("/home/me/a.py 4", "/home/me")
    assert shape_hash("3 failed") == shape_hash("4 failed") != shape_hash("4 passed")
    assert shape_hash("deadline") != shape_hash("headline")
