"""The Decision and how many attempts a task has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from orchestrator.domain.attempt import AttemptSummary, AttemptTotals
from orchestrator.domain.finding import Finding
from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.stop_reasons import ATTEMPT_STOPS, TASK_STOPS
from orchestrator.gates.completion import Ended, RanOut, continues, counts, decide, diagnose, out_of_attempts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FINDING = Finding(
    code="check_failed", severity="error", message="`x` exited with 1.", source="check", fingerprint="f1:1"
)
ATTEMPT = AttemptSummary(
    id="t:1",
    task_key="t",
    run_id="r",
    number=1,
    status="rejected",
    stage=1,
    stop_reason="gate_failed",
    stop_detail="",
    started_at=NOW,
    last_event_at=NOW,
    finished_at=NOW,
    model="m",
    tool_call_budget=20,
    tree_before=None,
    tree_after=None,
    worker_output="",
    commit=None,
    totals=AttemptTotals(),
)


def ended(status: AttemptStatus, reason: str) -> AttemptSummary:
    """A past attempt."""
    return replace(ATTEMPT, status=status, stop_reason=reason)


@pytest.mark.parametrize(
    ("findings", "reviewed", "ran_out", "expected"),
    [
        ((), True, False, "complete"),
        ((), False, False, "incomplete"),
        ((FINDING,), True, False, "incomplete"),
        ((FINDING,), True, True, "failed"),
        ((replace(FINDING, severity="warning"),), True, False, "complete"),
    ],
)
def test_complete_needs_clean_gates_and_a_review(
    findings: tuple[Finding, ...], reviewed: bool, ran_out: bool, expected: str
) -> None:
    """A blocking finding or a missing review is never complete; a warning does not block."""
    decision = decide(
        findings=findings, reviewed=reviewed, ran_out=ran_out, check_id="p", stage=1, at=NOW, diff_hash="t"
    )
    assert decision.decision == expected


INFRASTRUCTURE = {"review_error", "check_infrastructure", "workspace_error"}
OUTAGES = {"model_error", "interrupted", "cancelled"}


@pytest.mark.parametrize("reason", sorted(ATTEMPT_STOPS))
def test_what_was_not_the_workers_fault_does_not_count(reason: str) -> None:
    """An interruption or an infrastructure failure uses up no attempt, and is continued; every other end
    counts, a bound's above all: no task is retried unchanged for ever."""
    attempt = ended("failed", reason)
    assert counts(attempt) is (reason not in INFRASTRUCTURE | OUTAGES)
    assert continues(attempt) is not counts(attempt)


def test_an_attempt_that_the_runs_own_bound_cut_off_is_continued() -> None:
    """Its reason is a bound, and its status says that it was not the task's."""
    attempt = ended("interrupted", "token_limit")
    assert (counts(attempt), continues(attempt)) == (False, True)


def ran_out(past: Sequence[AttemptSummary], status: AttemptStatus, reason: str, max_attempts: int = 6) -> RanOut | None:
    """Whether the attempt that follows `past` is the last, if it ends so; two stops by a bound are allowed."""
    return out_of_attempts(past, Ended(len(past) + 1, status, reason, ""), max_attempts=max_attempts, stops=2)


def test_a_task_has_as_many_attempts_as_it_says() -> None:
    """The sixth rejection of six is the last."""
    past = [ATTEMPT] * 5
    assert ran_out(past[:4], "rejected", "gate_failed") is None
    assert ran_out(past, "rejected", "gate_failed") == RanOut("attempts_exhausted", 6, 6)


def test_two_stops_by_a_bound_end_a_task() -> None:
    """After the second stop the task fails and escalates."""
    stop = ended("stopped", "loop_detected")
    assert ran_out([], "stopped", "stalled") is None
    assert ran_out([stop], "stopped", "stalled") == RanOut("stops_exhausted", 2, 2)
    assert ran_out([stop], "rejected", "gate_failed") is None


@pytest.mark.parametrize("reason", sorted(INFRASTRUCTURE))
def test_two_infrastructure_failures_end_a_task(reason: str) -> None:
    """Two checks without an answer fail it, or two reviews, or git twice."""
    assert ran_out([], "failed", reason) is None
    assert ran_out([ended("failed", reason)], "failed", reason) == RanOut("attempts_exhausted", 2, 2)


@pytest.mark.parametrize("reason", sorted(OUTAGES))
def test_outages_never_end_a_task(reason: str) -> None:
    """An endpoint that is away ends the run instead."""
    assert ran_out([ended("failed", reason)] * 9, "failed", reason) is None


def test_a_diagnosis_tells_every_attempt_and_what_to_do_with_the_task() -> None:
    """Open findings, each attempt with its reason, the one that ends now too, and no word of a further one."""
    last = Ended(2, "rejected", "gate_failed", "`x` exited with 1.")
    found = diagnose(RanOut("attempts_exhausted", 2, 2), [ATTEMPT], last, [FINDING], NOW)
    assert found.open_findings == ("check_failed: `x` exited with 1.",)
    assert found.attempts == 2
    assert found.tried == (
        "attempt 1: rejected, gate_failed.",
        "attempt 2: rejected, gate_failed. `x` exited with 1.",
    )
    assert found.actions == (TASK_STOPS["attempts_exhausted"].next_step,)
    assert found.summary.startswith("attempts_exhausted: 2 attempts ended without accepted work;")


def test_after_a_bound_the_diagnosis_advises_on_the_bound_and_on_the_task() -> None:
    """What the stop itself advises still holds when no attempt follows."""
    last = Ended(1, "stopped", "token_limit", "")
    found = diagnose(RanOut("stops_exhausted", 1, 1), [], last, [], NOW)
    assert found.actions == (ATTEMPT_STOPS["token_limit"].next_step, TASK_STOPS["stops_exhausted"].next_step)
