"""Findings: what a gate or the review holds against an attempt."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import Literal

Severity = Literal["critical", "error", "warning", "info"]
FindingSource = Literal["scope", "diff_budget", "protected", "check", "baseline", "review", "oscillation"]

BLOCKING: frozenset[Severity] = frozenset({"critical", "error"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One defect. `locus` is where (a path, a command, a criterion); `fingerprint` identifies it across attempts and
    is computed by us, never by a model. `count` is how often it was seen."""

    code: str
    severity: Severity
    message: str
    source: FindingSource
    locus: str = ""
    required_fix: str = ""
    fingerprint: str = ""
    evidence: str = ""
    count: int = 1

    @property
    def blocking(self) -> bool:
        """Whether it keeps the task from being completed."""
        return self.severity in BLOCKING


def findings_hash(findings: tuple[Finding, ...]) -> str:
    """One short hash over the open findings' fingerprints, whatever their order: each as often as it was seen."""
    seen: Counter[str] = Counter()
    for finding in findings:
        seen[finding.fingerprint] += finding.count
    joined = "\n".join(sorted(name if count == 1 else f"{name} x{count}" for name, count in seen.items()))
    return hashlib.sha256(joined.encode()).hexdigest()[:16]
