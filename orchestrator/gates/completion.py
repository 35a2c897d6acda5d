"""The Decision: complete, incomplete or failed, computed from findings and review, never asked of a model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from orchestrator.domain.attempt import Decision, VerificationResult
from orchestrator.domain.finding import Finding, findings_hash
from orchestrator.gates.convergence import Convergence
from orchestrator.gates.progress import Effort, failure_counts


def decide(
    *,
    findings: Sequence[Finding],
    reviewed: bool,
    exhausted: bool,
    verified: VerificationResult,
    converged: Convergence,
    effort: Effort,
    at: datetime,
) -> Decision:
    """Complete needs clean gates and a review that passed; `exhausted` makes an incomplete attempt the last one.
    `converged` is where the task stands behind this pass, `effort` what it has used up to here."""
    blocking = [finding for finding in findings if finding.blocking]
    failures = failure_counts(findings)
    decision: Literal["complete", "incomplete", "failed"] = "complete"
    if blocking or not reviewed:
        decision = "failed" if exhausted else "incomplete"
    return Decision(
        decision=decision,
        check_id=verified.id,
        reasons=tuple(finding.message for finding in blocking),
        fingerprints=tuple(fingerprint for fingerprint, _ in failures),
        counts=tuple(count for _, count in failures),
        stage=converged.stage,
        stall_count=converged.stalls,
        trend=converged.trend,
        check_passes=effort.check_passes,
        fixes=effort.fixes,
        reviews=effort.reviews,
        pass_id=verified.id,
        at=at,
        failure_set_hash=findings_hash(tuple(blocking)),
        diff_hash=verified.tree,
    )


def decide_merge(
    findings: Sequence[Finding], *, pass_id: str, tree: str, converged: Convergence, at: datetime
) -> Decision:
    """What follows from the checks over a merged `tree` alone. The task stands where it stood."""
    blocking = tuple(finding for finding in findings if finding.blocking)
    failures = failure_counts(findings)
    return Decision(
        decision="incomplete" if blocking else "complete",
        check_id=pass_id,
        reasons=tuple(finding.message for finding in blocking),
        fingerprints=tuple(fingerprint for fingerprint, _ in failures),
        counts=tuple(count for _, count in failures),
        stage=converged.stage,
        stall_count=converged.stalls,
        pass_id=pass_id,
        at=at,
        failure_set_hash=findings_hash(blocking),
        diff_hash=tree,
        phase="merge",
    )
