"""When a task's attempts come no nearer to an end: a fold over the passes that rejected them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.domain.attempt import AttemptSummary, Decision
from orchestrator.domain.finding import Finding
from orchestrator.gates.convergence import (
    Convergence,
    Ground,
    changed_since,
    convergence,
    courses,
    rejected_passes,
)
from orchestrator.gates.convergence_limits import ConvergenceLimits, StageLimits
from orchestrator.gates.progress import CheckPass, failure_counts, recorded_pass
from orchestrator.gates.retry import Exhausted, RetryPolicy
from tests.support.samples import attempt_summary

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DEFAULTS = ConvergenceLimits()


def passes(*told: str, same_tree: bool = False) -> list[CheckPass]:
    """One pass for each word; its letters are the failures, each as often as it stands there."""
    return [
        CheckPass(
            failures=tuple((letter, word.count(letter)) for letter in sorted(set(word))),
            tree="t" if same_tree else f"t{number}",
        )
        for number, word in enumerate(told)
    ]


def walk(limits: ConvergenceLimits, *told: str) -> list[tuple[int, int, str | None]]:
    """Stage, stalls and trend behind each pass."""
    return [(state.stage, state.stalls, state.trend) for state in courses(passes(*told), limits)[1:]]


def test_the_same_failures_end_a_task_at_the_fourth_check_pass() -> None:
    """Two passes raise the stage, two more reach the last one; the count begins anew in between."""
    assert walk(DEFAULTS, *"aaaa") == [(1, 1, "first"), (2, 0, "stalled"), (2, 1, "stalled"), (3, 2, "stalled")]
    states = courses(passes(*"aaaa"), DEFAULTS)
    assert [state.failed for state in states] == [False, False, False, False, True]
    assert states[-1].passes == 4


def test_different_failures_never_raise_the_stage() -> None:
    """Each pass that finds something else begins the count anew, however many there are."""
    assert {state[:2] for state in walk(DEFAULTS, *"abcdefghij")} == {(1, 1)}


@pytest.mark.parametrize(("told", "found_at"), [("aba", 3), ("abca", 4), ("abcda", 5)])
def test_failures_that_come_back_are_an_oscillation(told: str, found_at: int) -> None:
    """What had gone and is there again raises the stage at once, and a second time round ends the task."""
    trends = [trend for _, _, trend in walk(DEFAULTS, *told)]
    assert trends.index("oscillating") == found_at - 1
    assert walk(DEFAULTS, *told)[-1][0] == 2
    assert any(state.failed for state in courses(passes(*(told[:-1] * 3)), DEFAULTS))


def test_a_cycle_of_two_ends_at_the_fifth_pass() -> None:
    """Behind the raised stage the newest set is kept, so that it is known again when it comes back."""
    states = courses(passes(*"ababa"), DEFAULTS)
    assert [state.stage for state in states[1:]] == [1, 1, 2, 2, 3]
    assert states[-1].failed


def test_a_part_of_the_failures_is_progress() -> None:
    """It begins the count anew; two in a row lower the stage, never below 1; fewer of the same failure count too."""
    assert walk(DEFAULTS, "abcd", "abcd", "abc", "ab") == [
        (1, 1, "first"),
        (2, 0, "stalled"),
        (2, 1, "progress"),
        (1, 1, "progress"),
    ]
    assert walk(DEFAULTS, "aaaaa", "aa", "a")[-1] == (1, 1, "progress")
    assert walk(DEFAULTS, "ab", "aab")[-1] == (1, 1, "regressed"), "more of one is no progress"


def test_work_that_did_not_change_is_a_stall_whatever_was_found() -> None:
    """The same tree counts, though the failures differ; a tree of an earlier attempt is an oscillation."""
    same = courses(passes(*"abcd", same_tree=True), DEFAULTS)
    assert [state.trend for state in same[1:]] == ["first", "no_change", "no_change", "no_change"]
    assert same[-1].failed
    back = [CheckPass(failures=((letter, 1),), tree=tree) for letter, tree in zip("abc", "121", strict=True)]
    assert convergence(back, DEFAULTS).trend == "oscillating"


def test_the_bounds_of_the_fold_are_settings() -> None:
    """A threshold of one, a last stage of one, and a last stage that does not end the task."""
    assert [state[0] for state in walk(ConvergenceLimits(stall_threshold=1), *"ab")] == [2, 3]
    assert walk(ConvergenceLimits(stall_threshold=1), "ab", "a")[-1] == (2, 1, "progress")
    first = courses(passes(*"aa"), ConvergenceLimits(max_stage=1))
    assert [(state.stage, state.failed) for state in first] == [(1, False), (1, False), (1, True)]
    lenient = ConvergenceLimits(fail_on_max_stage=False)
    assert [state.stage for state in courses(passes(*"aaaaaaaa"), lenient)] == [1, 1, 2, 2, 3, 3, 3, 3, 3]
    assert convergence(passes(*"aaaaaaaa"), ConvergenceLimits(enabled=False)) == Convergence()
    assert walk(ConvergenceLimits(progress_falls_after=1), "ab", "ab", "a")[-1][0] == 1


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"stall_threshold": 1.5}, "stall_threshold"),
        ({"stall_threshold": 0}, "stall_threshold"),
        ({"max_stage": "three"}, "max_stage"),
        ({"stall_treshold": 2}, "stall_treshold"),
        ({"stages": [{"stage": 4}]}, "stages entry for stage 4, above its max_stage = 3"),
        ({"stages": [{"stage": 2}, {"stage": 2, "diff_share": 0.1}]}, "two stages entries for stage 2"),
        ({"stages": [{"stage": 1}]}, "stage"),
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, Any], named: str) -> None:
    """Nothing runs under numbers that mean nothing."""
    with pytest.raises(ValidationError, match=named):
        ConvergenceLimits.model_validate(wrong)


def test_a_stage_takes_over_what_the_one_below_may_change() -> None:
    """Nothing is held closer at stage 1; from 2 on half of the diff budget, where nothing else is set."""
    assert DEFAULTS.at(1) is None
    assert DEFAULTS.at(2) == DEFAULTS.at(3) == StageLimits(stage=2, diff_share=0.5, touched_only=True)
    quarter = StageLimits(stage=3, diff_share=0.25)
    limits = ConvergenceLimits(max_stage=5, stages=(quarter,))
    assert [limits.at(stage) for stage in (2, 3, 4)] == [StageLimits(), quarter, quarter]


def decision(*fingerprints: str, tree: str = "t", **changes: Any) -> Decision:
    """A rejected pass as it is recorded."""
    return Decision("incomplete", "c", (), fingerprints, 1, f"pass of {tree}", NOW, diff_hash=tree, **changes)


def test_a_pass_is_read_from_its_decision() -> None:
    """With how often each failure was there; an older release repeated a fingerprint instead."""
    told = [decision("a", "b", counts=(2, 1)), decision("b", "a", "b")]
    known = [one.failures for each in told if (one := recorded_pass(attempt_summary(decision=each)))]
    assert known == [(("a", 2), ("b", 1)), (("a", 1), ("b", 2))]
    found = [Finding(code="x", severity=s, message="", source="check", fingerprint=f, count=2) for s, f in _FOUND]
    assert failure_counts(found) == (("a", 4), ("b", 2))


_FOUND: Sequence[tuple[Any, str]] = (("error", "b"), ("error", "a"), ("warning", "w"), ("critical", "a"))


def rejected(number: int, **changes: Any) -> AttemptSummary:
    """A rejected attempt of which everything was recorded."""
    known = attempt_summary(number=number, decision=decision("a", tree=f"t{number}"), base_commit="b", prompt_hash="p")
    return replace(known, limits_json='{"taskPaths":["src"]}', **changes)


def test_only_verdicts_over_the_work_are_passes() -> None:
    """What was stopped, cut off or got no answer says nothing, and what was before an accepted attempt is over."""
    others = [attempt_summary(status=status, decision=decision("x")) for status in ("stopped", "failed")]
    told = rejected_passes([rejected(1), *others, rejected(2), attempt_summary(decision=None)])
    assert [found.tree for found in told] == ["t1", "t2"]
    assert not any(found.anew for found in told)
    accepted = replace(rejected(2), status="accepted")
    assert [found.tree for found in rejected_passes([rejected(1), accepted, rejected(3)])] == ["t3"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"prompt_hash": "q"}, ("prompt",)),
        ({"model": "other"}, ("model",)),
        ({"tool_call_budget": 99}, ("budget",)),
        ({"limits_json": '{"taskPaths":["src","docs"]}'}, ("paths",)),
        ({"base_commit": "c", "run_id": "r2"}, ("base",)),
        ({"base_commit": "c"}, ()),
        ({"prompt_hash": None, "limits_json": "{}", "run_id": "r2"}, ()),
    ],
)
def test_what_a_person_changes_begins_the_count_anew(changes: dict[str, Any], named: tuple[str, ...]) -> None:
    """Prompt, model, budget, paths, and the base of another run; what was not recorded has not changed."""
    first, later = rejected(1), replace(rejected(2), **changes)
    assert changed_since(first, Ground.of(later), later.run_id) == named
    state = convergence(rejected_passes([first, later]), DEFAULTS)
    assert (state.stage, state.passes) == ((1, 1) if named else (2, 2))


def test_what_ended_a_task_is_over_when_it_is_tried_again() -> None:
    """The pass behind the one that ended it is a first one."""
    again = convergence(passes(*"aaaaa"), DEFAULTS)
    assert (again.stage, again.stalls, again.trend, again.failed) == (1, 1, "first", False)
    assert convergence(passes(*"aaaa"), DEFAULTS).taken_up == Convergence()


FAILED = convergence(passes(*"aaaa"), DEFAULTS)


@pytest.mark.parametrize(
    ("last", "stopped", "converged", "bound", "code"),
    [
        ({"status": "cancelled", "stop_reason": "cancelled"}, 2, FAILED, "person", None),
        ({"status": "interrupted", "stop_reason": "cost_limit"}, 2, FAILED, "run", None),
        ({"status": "failed", "stop_reason": "model_error"}, 2, FAILED, "run", None),
        ({}, 2, FAILED, "stops", "stops_exhausted"),
        ({}, 1, FAILED, "convergence", "not_converging"),
        ({}, 1, Convergence(), "attempts", "attempts_exhausted"),
    ],
)
def test_the_first_of_the_table_decides(
    last: dict[str, Any], stopped: int, converged: Convergence, bound: str, code: str | None
) -> None:
    """A person before a bound of the run, that before stops by a bound, these before convergence, attempts last: each
    where all that follow it would apply too."""
    stop = attempt_summary(status="stopped", stop_reason="stalled")
    attempts = [*[stop] * stopped, attempt_summary(**last)]
    decided = RetryPolicy(max_attempts=1, max_stopped_attempts=2).decided(attempts, converged)
    assert decided is not None
    assert (decided[0], decided[1].code if decided[1] else None) == (bound, code)


def test_where_nothing_decides_another_attempt_follows() -> None:
    """No line of the table applies."""
    policy = RetryPolicy(max_attempts=2, max_stopped_attempts=2)
    assert policy.decided([attempt_summary()], Convergence()) is None
    assert policy.exhausted([attempt_summary()], FAILED) == Exhausted("not_converging", 4, 3)


HISTORIES = st.lists(st.text("abc", max_size=4), max_size=14)
LIMITS = st.builds(
    ConvergenceLimits,
    enabled=st.booleans(),
    stall_threshold=st.integers(1, 3),
    max_stage=st.integers(1, 4),
    progress_falls_after=st.integers(1, 3),
    fail_on_max_stage=st.booleans(),
)


@given(HISTORIES, LIMITS, st.booleans())
def test_any_history_stays_within_the_bounds(told: list[str], limits: ConvergenceLimits, same_tree: bool) -> None:
    """The stage moves by one at most and stays between 1 and the last; a task ends at the last stage alone, and what
    never changes ends within the threshold of each stage."""
    states = courses(passes(*told, same_tree=same_tree), limits)
    for before, after in pairwise(states):
        assert 1 <= after.stage <= limits.max_stage
        assert abs(after.stage - before.taken_up.stage) <= 1
        assert not after.failed or (after.stage == limits.max_stage and limits.fail_on_max_stage)
        assert len(after.seen) <= after.passes
    ends = limits.enabled and limits.fail_on_max_stage
    constant = courses(passes(*["a"] * (limits.stall_threshold * limits.max_stage)), limits)
    assert any(state.failed for state in constant) is ends


@given(HISTORIES, st.integers(0, 14), LIMITS)
def test_a_resumed_fold_is_the_one_that_never_stopped(told: list[str], at: int, limits: ConvergenceLimits) -> None:
    """Whatever pass the process died behind, the next one finds the same stage and counts from what is recorded."""
    found = passes(*told)
    recorded = [
        attempt_summary(
            number=n, decision=decision(*dict(p.failures), counts=tuple(dict(p.failures).values()), tree=p.tree)
        )
        for n, p in enumerate(found, start=1)
    ]
    resumed = convergence(rejected_passes(recorded[:at]), limits)
    for later in found[at:]:
        resumed = resumed.observe(later, limits)
    assert summed(resumed) == summed(convergence(found, limits))


def summed(state: Convergence) -> tuple[object, ...]:
    """What a state says, without whose passes it is from."""
    kept = tuple((found.failures, found.tree) for found in state.seen)
    return state.stage, state.stalls, state.progress, state.trend, state.failed, state.passes, kept
