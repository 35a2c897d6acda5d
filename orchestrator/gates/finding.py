"""The one way in which gates make a finding: with a fingerprint of ours."""

from __future__ import annotations

from orchestrator.domain.finding import Finding, FindingSource, Severity
from orchestrator.gates.fingerprint import fingerprint


def make_finding(
    source: FindingSource,
    code: str,
    locus: str,
    message: str,
    required_fix: str,
    *,
    severity: Severity = "error",
    symptom: str = "",
) -> Finding:
    """A finding that is known again by code, locus and `symptom`, not by its message: rewording is no new one.
    Times, durations and line numbers in the symptom make no difference."""
    return Finding(
        code=code,
        severity=severity,
        message=message,
        source=source,
        locus=locus,
        required_fix=required_fix,
        fingerprint=fingerprint(code, locus, symptom),
    )
