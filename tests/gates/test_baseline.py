"""A check over the work against the same command over the commit under it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.attempt import Check
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.failure import Failure, ShownFailure, TestsSeen
from orchestrator.gates.baseline import (
    blamed,
    compare,
    fails_as_before,
    judge_baseline,
    known_failures,
    measured_commands,
)
from tests.support.samples import T0

CHECK = Check(
    id="c",
    command="pytest",
    exit_code=1,
    outcome="failed",
    duration_ms=1.0,
    output="",
    started_at=T0,
    phase="verification",
    pass_id="p",
)


def shown(name: str, count: int = 1) -> ShownFailure:
    """A failing test, so often."""
    return ShownFailure(Failure.of("pytest", test_name=name, signature="AssertionError"), count)


def check(*failures: ShownFailure, ran: tuple[str, ...] = (), skipped: tuple[str, ...] = ()) -> Check:
    """A check that showed these failures, and told of tests."""
    tests = TestsSeen(ran=ran, skipped=skipped) if ran or skipped else None
    passed = replace(CHECK, exit_code=0, outcome="passed")
    return replace(CHECK if failures else passed, failures=failures, tests=tests)


def baseline(base: Check) -> Baseline:
    """A baseline of one check."""
    return Baseline(run_id="r", commit="c", tree="t", captured_at=T0, checks=(base,))


def findings(now: Check, base: Check, *named: str) -> list[tuple[str, str]]:
    """Codes and places of what is said beside new failures."""
    return [(f.code, f.locus) for f in judge_baseline([now], baseline(base), named)]


def test_an_old_failure_is_nobodys_and_a_new_one_the_works() -> None:
    """{a, b} before: {a, b} now is nothing new, {a, c} has c as new, nothing left is both fixed."""
    before = check(shown("a"), shown("b"))
    assert fails_as_before(check(shown("b"), shown("a")), before)
    assert list(blamed([check(shown("a"), shown("b"))], baseline(before))) == []
    worse = check(shown("a"), shown("c"))
    assert not fails_as_before(worse, before)
    assert [c.failures for c in blamed([worse], baseline(before))] == [(shown("c"),)]
    assert compare(worse, before).fixed == (shown("b"),)
    assert findings(worse, before) == [("pre_existing", "pytest"), ("fixed", "pytest")]
    assert findings(check(), before) == [("fixed", "pytest")]
    assert not fails_as_before(check(), before)


def test_more_of_an_old_failure_is_new() -> None:
    """Two errors of a rule in a file, then five: three are the work's, and then one is progress."""
    before = check(shown("E501", 2))
    assert compare(check(shown("E501", 5)), before).new == (shown("E501", 3),)
    assert compare(check(shown("E501", 5)), before).pre_existing == (shown("E501", 2),)
    assert compare(check(shown("E501", 1)), before).fixed == (shown("E501", 1),)


def test_a_command_that_tells_nothing_apart_must_pass() -> None:
    """A program that is missing fails in the same words before and after: that excuses nothing. Without a baseline, or
    without any failure, all is the work's too."""
    rest = ShownFailure(Failure.of("pytest", signature="further failures 00ff"))
    assert fails_as_before(check(rest), check(rest))
    mute = ShownFailure(Failure.of("pytest", signature="exit 1: No module named pytest"))
    assert not fails_as_before(check(mute), check(mute))
    assert not fails_as_before(check(shown("a")), None)
    silent = replace(CHECK, failures=())
    assert not fails_as_before(silent, silent)
    assert list(blamed([silent], baseline(silent))) == [silent]


def test_a_test_that_ran_and_does_not_any_more_has_vanished() -> None:
    """Deleted, skipped or not collected: a finding, also where its file may be changed, if fewer tests run or it had
    failed. One that passed may be renamed in a file that the task names, by path or by module."""
    before = check(shown("t.py::b"), ran=("t.py::a", "t.py::b", "u.a"))
    assert findings(check(ran=("t.py::a", "u.a")), before, "t.py") == [("fixed", "pytest"), ("vanished", "t.py::b")]
    skips = check(ran=("t.py::a", "u.a"), skipped=("t.py::b",))
    [_, told] = judge_baseline([skips], baseline(before), ())
    assert told.blocking and "is skipped now" in told.message
    renamed = check(shown("t.py::b"), ran=("t.py::z", "t.py::b", "u.z"))
    assert findings(renamed, before, "t.py", "u.py") == [("pre_existing", "pytest")]
    assert findings(renamed, before, "t.py") == [("pre_existing", "pytest"), ("vanished", "u.a")]
    assert findings(check(), before)[-1] == ("vanished", "u.a")


def test_parameters_that_differ_from_run_to_run_are_no_other_tests() -> None:
    """A time in a test's parameter is another text each day; a test with fewer parameters than before has lost some."""
    before = check(ran=("t.py::a[08:00]", "t.py::a[09:00]"))
    assert findings(check(ran=("t.py::a[10:00]", "t.py::a[11:00]")), before) == []
    assert findings(check(ran=("t.py::a[10:00]",)), before)[0][0] == "vanished"


def test_many_vanished_tests_are_told_in_few_findings() -> None:
    """Twenty by name, the rest as one that changes with what is in it; no answer and no baseline say nothing."""
    ran = tuple(f"t.py::t{n:04}" for n in range(3_000))
    found = list(judge_baseline([check()], baseline(check(ran=ran)), ()))
    assert len(found) == 21 and "2,980" not in found[-1].message and "2980 more" in found[-1].message
    other = list(judge_baseline([check()], baseline(check(ran=ran[:-1])), ()))
    assert found[-1].fingerprint != other[-1].fingerprint
    unanswered = replace(CHECK, outcome="infrastructure", exit_code=None)
    assert findings(unanswered, check(ran=ran)) == []
    assert findings(replace(CHECK, command="other"), check(ran=ran)) == []


def test_a_command_over_a_file_that_is_still_to_be_written_has_no_baseline() -> None:
    """A script of the plan's own cannot be run before its task has written it; nor does it help to know that a judge
    finds nothing done yet."""
    commands = ("./check.sh", "judge {check_id}", "pytest", "sh check.sh", "pytest", "ruff check app.py")
    assert measured_commands(commands, ["check.sh", "app.py"], ["app.py"]) == ("pytest", "ruff check app.py")


def test_known_failures_are_told_in_words() -> None:
    """With their command, for who plans and works."""
    assert known_failures(baseline(check(shown("t.py::a")))) == ("t.py::a: AssertionError (`pytest`)",)
    assert baseline(check(ran=("a", "b"), skipped=("c",))).tests_collected == 3
    assert baseline(check()).tests_collected is None


COUNTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 4))


@given(COUNTS, COUNTS)
def test_every_failure_is_counted_once(before: dict[str, int], now: dict[str, int]) -> None:
    """What is shown now is new or old, what was shown before is old or fixed, as multisets."""
    found = compare(check(*(shown(k, n) for k, n in now.items())), check(*(shown(k, n) for k, n in before.items())))
    new, old, fixed = (
        Counter({each.failure.test_name: each.count for each in part})
        for part in (found.new, found.pre_existing, found.fixed)
    )
    assert new + old == Counter(now)
    assert fixed + old == Counter(before)


def test_fewer_tests_than_before_are_seen_where_they_are_only_counted() -> None:
    """A quiet tool counts: fewer, or none at all, as when the code under test ends the process, blocks; as many and
    more do not, nor does a check that failed anew, which has its own findings."""

    def quiet(number: int | None, *failures: ShownFailure) -> Check:
        return replace(check(*failures), tests=None if number is None else TestsSeen(unnamed=number))

    gone = [("vanished", "pytest")]
    assert findings(quiet(2), quiet(3)) == findings(quiet(0), quiet(3)) == findings(quiet(None), quiet(3)) == gone
    assert findings(quiet(3), quiet(3)) == findings(quiet(4), quiet(3)) == findings(quiet(2), quiet(None)) == []
    assert findings(quiet(2, shown("a")), quiet(3)) == []
    assert Baseline(run_id="r", commit="c", tree="t", captured_at=T0, checks=(quiet(3),)).tests_collected == 3
    [told] = judge_baseline([quiet(0)], baseline(quiet(1)), ())
    assert told.message == "`pytest` ran 1 test before the work, and none now."
