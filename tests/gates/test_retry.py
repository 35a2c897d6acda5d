"""How many attempts a task has, and what is said when they are used up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from orchestrator.domain.attempt import AttemptSummary, Decision
from orchestrator.domain.finding import Finding
from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.stop_reasons import ATTEMPT_STOPS, TASK_STOPS
from orchestrator.engine.attempt.result import AttemptEnd
from orchestrator.gates.failure_report import failure_report, reported_by_model
from orchestrator.gates.retry import (
    MOST_INFRASTRUCTURE_FAILURES,
    Exhausted,
    RetryPolicy,
    consumes_attempt,
    resumes,
)
from tests.support.samples import attempt_summary

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FINDING = Finding(
    code="check_failed", severity="error", message="`x` exited with 1.", source="check", fingerprint="f1:1"
)
ATTEMPT = attempt_summary(stop_detail="", worker_output="")


def ended(status: AttemptStatus, reason: str) -> AttemptSummary:
    """A past attempt."""
    return replace(ATTEMPT, status=status, stop_reason=reason)


INFRASTRUCTURE = {"review_error", "check_infrastructure", "workspace_error"}
OUTAGES = {"model_error", "interrupted", "cancelled", "baseline_unavailable"}


@pytest.mark.parametrize("reason", sorted(ATTEMPT_STOPS))
def test_what_was_not_the_workers_fault_does_not_count(reason: str) -> None:
    """An interruption or an infrastructure failure uses up no attempt, and is continued; every other end
    counts, a bound's above all: no task is retried unchanged for ever."""
    attempt = ended("failed", reason)
    assert consumes_attempt(attempt) is (reason not in INFRASTRUCTURE | OUTAGES)
    assert resumes(attempt) is not consumes_attempt(attempt)


def test_an_attempt_that_the_runs_own_bound_cut_off_is_continued() -> None:
    """Its reason is a bound, and its status says that it was not the task's."""
    attempt = ended("interrupted", "token_limit")
    assert (consumes_attempt(attempt), resumes(attempt)) == (False, True)


def ended_now(number: int, status: AttemptStatus, reason: str, detail: str = "") -> AttemptEnd:
    """How an attempt ends that is in no history yet."""
    return AttemptEnd(number=number, status=status, stop_reason=reason, stop_detail=detail)


def exhausted(
    past: Sequence[AttemptSummary], status: AttemptStatus, reason: str, max_attempts: int = 6
) -> Exhausted | None:
    """Whether the attempt that follows `past` is the last, if it ends so; two stops by a bound are allowed."""
    policy = RetryPolicy(max_attempts=max_attempts, max_stopped_attempts=2)
    return policy.exhausted([*past, ended_now(len(past) + 1, status, reason)])


def test_a_task_has_as_many_attempts_as_it_says() -> None:
    """The sixth rejection of six is the last."""
    past = [ATTEMPT] * 5
    assert exhausted(past[:4], "rejected", "gate_failed") is None
    assert exhausted(past, "rejected", "gate_failed") == Exhausted("attempts_exhausted", 6, 6)


def test_two_stops_by_a_bound_end_a_task() -> None:
    """After the second stop the task fails and escalates."""
    stop = ended("stopped", "loop_detected")
    assert exhausted([], "stopped", "stalled") is None
    assert exhausted([stop], "stopped", "stalled") == Exhausted("stops_exhausted", 2, 2)
    assert exhausted([stop], "rejected", "gate_failed") is None


@pytest.mark.parametrize("reason", sorted(INFRASTRUCTURE))
def test_two_infrastructure_failures_end_a_task(reason: str) -> None:
    """Two checks without an answer fail it, or two reviews, or git twice."""
    assert exhausted([], "failed", reason) is None
    assert exhausted([ended("failed", reason)], "failed", reason) == Exhausted("attempts_exhausted", 2, 2)


@pytest.mark.parametrize("reason", sorted(OUTAGES))
def test_outages_never_end_a_task(reason: str) -> None:
    """An endpoint that is away ends the run instead."""
    assert exhausted([ended("failed", reason)] * 9, "failed", reason) is None


def test_a_failure_report_tells_every_attempt_and_what_to_do_with_the_task() -> None:
    """Open findings with how often they were found, each attempt with its reason, the one that ends now too, and no
    word of a further one."""
    decided = Decision("incomplete", "c", (), (FINDING.fingerprint,), 1, "p", NOW)
    before = replace(ATTEMPT, decision=decided)
    last = ended_now(2, "rejected", "gate_failed", "`x` exited with 1.")
    found = failure_report(Exhausted("attempts_exhausted", 2, 2), [before], last, [FINDING], NOW)
    assert found.open_findings == ("check_failed: `x` exited with 1. (in 2 attempts)",)
    assert found.attempts == 2
    assert found.tried == (
        "attempt 1: rejected, gate_failed.",
        "attempt 2: rejected, gate_failed. `x` exited with 1.",
    )
    assert found.actions == (TASK_STOPS["attempts_exhausted"].next_step,)
    assert found.summary.startswith("Attempts that ended without accepted work: 2; allowed:")
    assert found.summary.endswith(" The last one: rejected, checks failed.")


def test_after_a_bound_the_report_advises_on_the_bound_and_on_the_task() -> None:
    """What the stop itself advises still holds when no attempt follows."""
    last = ended_now(1, "stopped", "token_limit")
    found = failure_report(Exhausted("stops_exhausted", 1, 1), [], last, [], NOW)
    assert found.summary.endswith(" The last one: stopped, token limit reached.")
    assert found.actions == (ATTEMPT_STOPS["token_limit"].next_step, TASK_STOPS["stops_exhausted"].next_step)


ENDS = (ended("rejected", "gate_failed"), ended("stopped", "loop_detected"), ended("failed", "review_error"))


def _longest(policy: RetryPolicy, attempts: tuple[AttemptSummary, ...] = ()) -> tuple[int, int]:
    """The most budgets that any sequence of ends behind these gives out, and the most attempts."""
    if attempts and policy.exhausted(attempts):
        return 0, 0
    fresh = not attempts or not resumes(attempts[-1])
    further = [_longest(policy, (*attempts, end)) for end in ENDS]
    return max(budgets for budgets, _ in further) + fresh, max(more for _, more in further) + 1


@pytest.mark.parametrize("most", [1, 2, 3, 4])
@pytest.mark.parametrize("stopped", [1, 2, 5])
def test_no_sequence_of_ends_exceeds_the_worst_case(most: int, stopped: int) -> None:
    """Whatever ends a task's attempts, it is given its budget max_attempts times, and reviewed once more at most: what
    is printed before a run is the real product."""
    assert _longest(RetryPolicy(most, stopped)) == (most, most + MOST_INFRASTRUCTURE_FAILURES - 1)


def test_a_model_adds_to_a_report_and_takes_nothing_away() -> None:
    """Its words come behind what is recorded, short and few; an answer that cannot be read adds nothing."""
    drawn = failure_report(Exhausted("attempts_exhausted", 1, 1), [], ended("rejected", "gate_failed"), [FINDING], NOW)
    long = "Nobody said \n what tidy is. " * 1_000
    told = reported_by_model(drawn, {"summary": long, "actions": ["Say it.", 3, "", *["Do more."] * 9]})
    assert told.by_model and told.summary.startswith(f"{drawn.summary} Nobody said what tidy is.")
    assert len(told.summary) < len(drawn.summary) + 1_100
    assert told.actions == (*drawn.actions, "Say it.", "Do more.", "Do more.")
    for nothing in ({}, {"summary": ""}, {"summary": 3, "actions": ["x"]}, {"summary": None, "actions": "x"}):
        assert reported_by_model(drawn, nothing) == drawn
