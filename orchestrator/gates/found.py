"""The one way in which gates make a finding: with a fingerprint of ours (F8)."""

from __future__ import annotations

from orchestrator.domain.finding import Finding, Severity, Source
from orchestrator.gates.fingerprint import fingerprint


def found(
    source: Source,
    code: str,
    locus: str,
    message: str,
    required_fix: str,
    *,
    severity: Severity = "error",
    symptom: str = "",
    workspace_root: str = "",
    evidence: str = "",
) -> Finding:
    """A finding that is known again by code, locus and `symptom`, not by its message: rewording is no new one (R0.7).
    Times, durations, line numbers and `workspace_root` in the symptom make no difference (F1)."""
    return Finding(
        code=code,
        severity=severity,
        message=message,
        source=source,
        locus=locus,
        required_fix=required_fix,
        fingerprint=fingerprint(code, locus, symptom, workspace_root=workspace_root),
        evidence=evidence,
    )
