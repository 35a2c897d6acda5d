"""The Decision and how many attempts a task has."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from orchestrator.domain.finding import Finding
from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.records import AttemptSummary, AttemptTotals
from orchestrator.gates.decision import continues, counts, decide, diagnose, out_of_attempts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FINDING = Finding("check_failed", "error", "`x` exited with 1.", "check", fingerprint="f1:1")
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
    """A blocking finding or a missing review is never complete; a warning does not block (decision 7, R2.1)."""
    decision = decide(
        findings=findings, reviewed=reviewed, ran_out=ran_out, check_id="p", stage=1, at=NOW, diff_hash="t"
    )
    assert decision.decision == expected


@pytest.mark.parametrize(
    ("status", "reason", "counted"),
    [
        ("rejected", "gate_failed", True),
        ("rejected", "review_failed", True),
        ("stopped", "loop_detected", True),
        ("failed", "gave_up", True),
        ("interrupted", "interrupted", False),
        ("failed", "model_error", False),
        ("failed", "review_error", False),
        ("failed", "check_infrastructure", False),
    ],
)
def test_what_was_not_the_workers_fault_does_not_count(status: AttemptStatus, reason: str, counted: bool) -> None:
    """An interruption or an infrastructure failure uses up no attempt (R2.6, R4.14), and is continued."""
    assert counts(ended(status, reason)) is counted
    assert continues(ended(status, reason)) is not counted


def test_a_task_has_as_many_attempts_as_it_says() -> None:
    """The sixth rejection of six is the last."""
    past = [ATTEMPT] * 5
    assert out_of_attempts(past[:4], "rejected", "gate_failed", max_attempts=6, stops=2) is None
    assert out_of_attempts(past, "rejected", "gate_failed", max_attempts=6, stops=2) == "attempts_exhausted"


def test_two_stops_by_a_bound_end_a_task() -> None:
    """After the second stop the task fails and escalates (R3.12)."""
    stop = ended("stopped", "loop_detected")
    assert out_of_attempts([], "stopped", "stalled", max_attempts=6, stops=2) is None
    assert out_of_attempts([stop], "stopped", "stalled", max_attempts=6, stops=2) == "stops_exhausted"
    assert out_of_attempts([stop], "rejected", "gate_failed", max_attempts=6, stops=2) is None


def test_two_infrastructure_failures_end_a_task_and_outages_never_do() -> None:
    """Two checks without an answer fail it (R4.14); an endpoint that is away ends the run instead."""
    check = ended("failed", "check_infrastructure")
    away = ended("failed", "model_error")
    assert out_of_attempts([check], "failed", "check_infrastructure", max_attempts=6, stops=2) == "attempts_exhausted"
    assert out_of_attempts([away] * 9, "failed", "model_error", max_attempts=6, stops=2) is None


def test_a_diagnosis_tells_what_was_tried_and_what_to_do() -> None:
    """Open findings, each attempt with its reason, and an action (R2.12)."""
    found = diagnose("attempts_exhausted", "gate_failed", [ATTEMPT], [FINDING], "Split it.", NOW)
    assert found.open_findings == ("check_failed: `x` exited with 1.",)
    assert "attempt 1: rejected, gate_failed." in found.tried[0]
    assert found.actions == ("Split it.",)
