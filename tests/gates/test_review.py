"""What a claimed pass must bring to be one: evidence for every criterion."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.gates.review import Judgement, judge_review

CRITERIA = ("`add(2, 3)` is 5.", "add() takes no text")


def entry(text: str, passed: bool | None = True, evidence: str = "unittest, exit 0") -> dict[str, Any]:
    """One criterion as QC judged it."""
    return {"group": "functionality", "text": text, "passed": passed, "evidence": evidence}


def judged(*entries: dict[str, Any], claims: bool = True, score: int = 95, **more: Any) -> Judgement:
    """The verdict over an answer about two criteria."""
    answer = {"passed": claims, "score": score, "feedback": "Fine.", "criteria": list(entries), "findings": [], **more}
    return judge_review(answer, "lenient", 80)


def codes(judgement: Judgement) -> list[tuple[str, str]]:
    """What was held against the pass, and where."""
    return [(finding.code, finding.locus) for finding in judgement.findings]


@pytest.mark.parametrize("evidence", ["", "  \n"])
def test_a_pass_with_a_criterion_without_evidence_is_none(evidence: str) -> None:
    """A criterion that is passed for no reason given is unmet, in every mode; the finding names it."""
    verdict = judged(entry(CRITERIA[0]), entry(CRITERIA[1], evidence=evidence))
    assert (verdict.passed, verdict.unproven) == (False, True)
    assert codes(verdict) == [("criterion_unproven", CRITERIA[1])]
    assert verdict.findings[0].blocking


def test_a_review_without_criteria_can_pass() -> None:
    """A task need not have any."""
    answer = {"passed": True, "score": 95, "feedback": "Fine.", "criteria": [], "findings": []}
    assert judge_review(answer, "strict", 80).passed


def test_gaps_are_nothing_against_a_fail_and_excuse_no_other_defect() -> None:
    """A fail stands on what it says; and with a failed criterion or a low score it is no longer QC's omission."""
    flaw = {"code": "flaw", "severity": "error", "message": "It is wrong.", "locus": "a.py", "required_fix": "Fix it."}
    assert codes(judged(entry(CRITERIA[0], evidence=""), claims=False, findings=[flaw])) == [("flaw", "a.py")]
    assert not judged(entry(CRITERIA[0], False), entry(CRITERIA[1], evidence="")).unproven
    low = judged(entry(CRITERIA[0], evidence=""), score=10)
    assert (low.passed, low.unproven) == (False, False)


def test_findings_that_block_need_no_finding_about_their_number() -> None:
    """A claimed pass over errors is none, and what stands against it are the errors themselves."""
    flaw = {"code": "flaw", "severity": "error", "message": "It is wrong.", "locus": "a.py", "required_fix": "Fix it."}
    answer = {"passed": True, "score": 95, "feedback": "Fine.", "criteria": [], "findings": [flaw]}
    verdict = judge_review(answer, "normal", 80)
    assert (verdict.passed, codes(verdict)) == (False, [("flaw", "a.py")])


def test_too_many_warnings_are_told_as_such() -> None:
    """Warnings block nothing one by one; more of them than the mode allows hold a pass back."""
    mild = {"code": "mild", "severity": "warning", "message": "Hm.", "locus": "a.py", "required_fix": ""}
    answer = {"passed": True, "score": 95, "feedback": "Fine.", "criteria": [], "findings": [mild] * 4}
    verdict = judge_review(answer, "normal", 80)
    assert (verdict.passed, codes(verdict)[-1]) == (False, ("review_findings", "findings"))
