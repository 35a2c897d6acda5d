"""The Decision."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from orchestrator.domain.attempt import VerificationResult
from orchestrator.domain.finding import Finding
from orchestrator.gates.completion import decide
from orchestrator.gates.convergence import Convergence
from orchestrator.gates.progress import Effort

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FINDING = Finding(
    code="check_failed", severity="error", message="`x` exited with 1.", source="check", fingerprint="f1:1"
)


@pytest.mark.parametrize(
    ("findings", "reviewed", "exhausted", "expected"),
    [
        ((), True, False, "complete"),
        ((), False, False, "incomplete"),
        ((FINDING,), True, False, "incomplete"),
        ((FINDING,), True, True, "failed"),
        ((replace(FINDING, severity="warning"),), True, False, "complete"),
    ],
)
def test_complete_needs_clean_gates_and_a_review(
    findings: tuple[Finding, ...], reviewed: bool, exhausted: bool, expected: str
) -> None:
    """A blocking finding or a missing review is never complete; a warning does not block."""
    verified = VerificationResult(id="p", tree="t")
    decision = decide(
        findings=findings,
        reviewed=reviewed,
        exhausted=exhausted,
        verified=verified,
        converged=Convergence(),
        effort=Effort(check_passes=2, fixes=1, reviews=1),
        at=NOW,
    )
    assert decision.decision == expected
    assert (decision.check_passes, decision.fixes, decision.reviews) == (2, 1, 1)
