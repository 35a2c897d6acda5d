"""The Decision: complete, incomplete or failed, computed from findings and review, never asked of a model.

How many attempts a task has is arithmetic over what became of the earlier ones: an attempt that a bound stopped, that
was rejected or gave up counts; one that died with its process or failed by our own or the endpoint's fault does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from orchestrator.domain.finding import Finding, findings_hash
from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.records import AttemptSummary, Decision, Diagnosis

INFRASTRUCTURE = frozenset(
    {"model_error", "review_error", "check_infrastructure", "baseline_unavailable", "workspace_error", "lease_lost"}
)
_BOUNDED = INFRASTRUCTURE - {"model_error", "lease_lost"}  # these end the run, or belong to another process
MOST_INFRASTRUCTURE_FAILURES = 2  # R4.14, R4.16


def decide(
    *,
    findings: Sequence[Finding],
    reviewed: bool,
    ran_out: bool,
    check_id: str,
    stage: int,
    at: datetime,
    diff_hash: str,
) -> Decision:
    """Complete needs clean gates and a review that passed; `ran_out` makes an incomplete attempt the last one."""
    blocking = [finding for finding in findings if finding.blocking]
    decision: Literal["complete", "incomplete", "failed"] = "complete"
    if blocking or not reviewed:
        decision = "failed" if ran_out else "incomplete"
    return Decision(
        decision=decision,
        check_id=check_id,
        reasons=tuple(finding.message for finding in blocking),
        fingerprints=tuple(sorted(finding.fingerprint for finding in blocking)),
        stage=stage,
        pass_id=check_id,
        at=at,
        failure_set_hash=findings_hash(tuple(blocking)),
        diff_hash=diff_hash,
    )


def counts(attempt: AttemptSummary) -> bool:
    """Whether an ended attempt counts against max_attempts."""
    return attempt.status in ("accepted", "rejected", "stopped") or (
        attempt.status == "failed" and attempt.stop_reason not in INFRASTRUCTURE
    )


def continues(attempt: AttemptSummary) -> bool:
    """Whether its successor goes on where it was cut off, with what is left of its budget, and is told no findings."""
    return attempt.status == "interrupted" or attempt.stop_reason in INFRASTRUCTURE


def out_of_attempts(
    earlier: Iterable[AttemptSummary], status: AttemptStatus, stop_reason: str, *, max_attempts: int, stops: int
) -> str | None:
    """Why no attempt may follow the one that ends now with `status`: a task's stop code, or None."""
    past = list(earlier)
    counted = sum(map(counts, past)) + (status in ("rejected", "stopped") or stop_reason == "gave_up")
    stopped = sum(a.status == "stopped" for a in past) + (status == "stopped")
    infrastructure = sum(a.stop_reason in _BOUNDED for a in past) + (stop_reason in _BOUNDED)
    if stopped >= stops:
        return "stops_exhausted"
    if counted >= max_attempts or infrastructure >= MOST_INFRASTRUCTURE_FAILURES:
        return "attempts_exhausted"
    return None


def diagnose(
    reason: str,
    detail: str,
    attempts: Sequence[AttemptSummary],
    findings: Sequence[Finding],
    next_step: str,
    at: datetime,
) -> Diagnosis:
    """The report of a task that ran out, drawn from what is recorded (R2.12, the deterministic fallback)."""
    tried = tuple(
        f"attempt {a.number}: {a.status}, {a.stop_reason or '-'}. {a.stop_detail or ''}".strip() for a in attempts
    )
    return Diagnosis(
        summary=f"{reason}: {detail}",
        open_findings=tuple(f"{f.code}: {f.message}" for f in findings if f.blocking),
        attempts=len(attempts),
        tried=tried,
        actions=(next_step,),
        at=at,
    )
