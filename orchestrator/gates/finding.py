"""The one way in which gates make a finding: with a fingerprint of ours."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

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


MOST_OF_A_CODE = 100
"""Findings of one code that stand one by one; one more stands for all others."""


def summed_up(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, of each code at most MOST_OF_A_CODE and one for the rest: ten thousand files out of scope are one
    defect, and each finding is a node. What the rest are still makes a difference to the one's fingerprint."""
    by_code: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_code[finding.code].append(finding)
    for listed in by_code.values():
        yield from listed[:MOST_OF_A_CODE]
        if rest := listed[MOST_OF_A_CODE:]:
            yield _of_rest(rest)


def _of_rest(rest: Sequence[Finding]) -> Finding:
    digest = hashlib.sha256("\n".join(sorted(finding.fingerprint for finding in rest)).encode()).hexdigest()[:16]
    first = rest[0]
    return replace(
        first,
        locus="",
        message=f"{first.message} And {len(rest) - 1:,} more of the same kind.",
        fingerprint=fingerprint(first.code, digest, ""),
        count=sum(finding.count for finding in rest),
    )
