"""What a claimed pass must bring to be one: evidence for every criterion (R2.9)."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.gates.review import Judgement, judge_review

CRITERIA = ("`add(2, 3)` is 5.", "add() takes no text")


def entry(text: str, passed: bool | None = True, evidence: str = "unittest, exit 0") -> dict[str, Any]:
    """One criterion as QC judged it."""
    return {"group": "functionality", "text": text, "passed": passed, "evidence": evidence}


def judged(*entries: dict[str, Any], claims: bool = True, score: int = 95, **more: Any) -> Judgement:
    """The verdict over an answer about a task with two acceptance criteria."""
    answer = {"passed": claims, "score": score, "feedback": "Fine.", "criteria": list(entries), "findings": [], **more}
    return judge_review(answer, "lenient", 80, CRITERIA)


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


def test_a_pass_must_judge_every_acceptance_criterion() -> None:
    """What was left out, or could not be judged, is named; case and punctuation make no difference."""
    verdict = judged(entry("ADD(2, 3) is 5"))
    assert (verdict.passed, verdict.unproven) == (False, True)
    assert codes(verdict) == [("criterion_not_judged", CRITERIA[1])]
    assert codes(judged(entry(CRITERIA[0]), entry(CRITERIA[1], passed=None))) == codes(verdict)
    assert len(judged().findings) == 2


def test_criteria_in_qcs_own_words_are_as_good() -> None:
    """Models reword: as many judged criteria as the task has are enough."""
    assert judged(entry("The sum of 2 and 3"), entry("Texts are refused")).passed
    assert judged(*map(entry, CRITERIA), entry("An edge case")).passed


def test_a_task_without_acceptance_criteria_asks_for_none() -> None:
    """A plan need not have any, and then a review without criteria passes."""
    answer = {"passed": True, "score": 95, "feedback": "Fine.", "criteria": [], "findings": []}
    assert judge_review(answer, "strict", 80).passed


def test_gaps_are_nothing_against_a_fail_and_excuse_no_other_defect() -> None:
    """A fail stands on what it says; and with a failed criterion or a low score it is no longer QC's omission."""
    flaw = {"code": "flaw", "severity": "error", "message": "It is wrong.", "locus": "a.py", "required_fix": "Fix it."}
    assert codes(judged(entry(CRITERIA[0], evidence=""), claims=False, findings=[flaw])) == [("flaw", "a.py")]
    assert not judged(entry(CRITERIA[0], False), entry(CRITERIA[1], evidence="")).unproven
    low = judged(entry(CRITERIA[0]), score=10)
    assert (low.passed, low.unproven) == (False, False)
