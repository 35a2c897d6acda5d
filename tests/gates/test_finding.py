"""Findings of every gate have a fingerprint that lasts as long as the defect does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from orchestrator.domain.attempt import Check
from orchestrator.domain.finding import Finding
from orchestrator.gates.checks import judge_checks, judge_unanswered
from orchestrator.gates.finding import make_finding
from orchestrator.gates.merge import judge_conflicts


def check(output: str, exit_code: int | None = 1) -> Check:
    """A command that failed, or gave no answer."""
    outcome: Literal["failed", "infrastructure"] = "infrastructure" if exit_code is None else "failed"
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Check("c", "make test", exit_code, outcome, 1.0, output, at, "verification", "p")


def test_a_finding_is_known_again_by_code_place_and_symptom() -> None:
    """Rewording is no new finding; another place, code or symptom is one."""
    one = make_finding("review", "flaw", "a.py", "It is wrong.", "Fix it.", symptom="3 failed in 0.1 s")
    assert one.fingerprint == make_finding("scope", "flaw", "a.py", "Bad!", "", symptom="3 failed in 9.5 s").fingerprint
    others = [("other", "a.py", "3 failed"), ("flaw", "b.py", "3 failed"), ("flaw", "a.py", "2 failed in 0.1 s")]
    prints = {
        make_finding("review", code, locus, "It is wrong.", "", symptom=seen).fingerprint
        for code, locus, seen in others
    }
    assert len({*prints, one.fingerprint}) == 4


def test_what_stands_against_a_merge_is_a_blocking_finding() -> None:
    """A conflicting path, a failed command and one without an answer keep the work from being delivered."""
    held: list[Finding] = [
        *judge_conflicts(["a.py"]),
        *judge_checks([check("E: 1")]),
        *judge_unanswered([check("killed", None)]),
    ]
    assert [finding.code for finding in held] == ["merge_conflict", "check_failed", "check_unanswered"]
    assert all(finding.blocking and finding.fingerprint and finding.required_fix for finding in held)
    assert judge_unanswered([check("E: 1")]) == ()
