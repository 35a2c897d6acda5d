"""The Decision: complete, incomplete or failed, computed from findings and review, never asked of a model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from orchestrator.domain.attempt import Decision, VerificationResult
from orchestrator.domain.finding import Finding, findings_hash


def decide(
    *,
    findings: Sequence[Finding],
    reviewed: bool,
    exhausted: bool,
    verified: VerificationResult,
    stage: int,
    at: datetime,
) -> Decision:
    """Complete needs clean gates and a review that passed; `exhausted` makes an incomplete attempt the last one."""
    blocking = [finding for finding in findings if finding.blocking]
    decision: Literal["complete", "incomplete", "failed"] = "complete"
    if blocking or not reviewed:
        decision = "failed" if exhausted else "incomplete"
    return Decision(
        decision=decision,
        check_id=verified.id,
        reasons=tuple(finding.message for finding in blocking),
        fingerprints=tuple(sorted(finding.fingerprint for finding in blocking)),
        stage=stage,
        pass_id=verified.id,
        at=at,
        failure_set_hash=findings_hash(tuple(blocking)),
        diff_hash=verified.tree,
    )
