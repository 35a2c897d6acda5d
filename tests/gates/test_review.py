"""What a claimed pass must bring to be one: evidence for every criterion."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.gates.review import Judgement, judge_review

CRITERIA = ("`add(2, 3)` is 5.", "add() takes no text")


RUN = {"kind": "command", "command": "python3 -m unittest", "exit_code": 0}


def entry(text: str, passed: bool | None = True, evidence: object = RUN) -> dict[str, Any]:
    """One criterion as QC judged it."""
    return {"group": "functionality", "text": text, "passed": passed, "evidence": evidence}


def judged(*entries: dict[str, Any], claims: bool = True, score: int = 95, **more: Any) -> Judgement:
    """The verdict over an answer about two criteria."""
    answer = {"passed": claims, "score": score, "feedback": "Fine.", "criteria": list(entries), "findings": [], **more}
    return judge_review(answer, "lenient", 80, CRITERIA)


def codes(judgement: Judgement) -> list[tuple[str, str]]:
    """What was held against the pass, and where."""
    return [(finding.code, finding.locus) for finding in judgement.findings]


@pytest.mark.parametrize(
    "evidence",
    [
        "",
        "  \n",
        None,
        {"kind": "command"},
        {"kind": "lines", "path": "a.py", "first": 1, "last": 3},
        {"kind": "text", "text": "I looked at it."},
        "unittest, exit 0",
    ],
)
def test_a_pass_with_a_criterion_without_evidence_is_none(evidence: object) -> None:
    """A criterion that is passed for no reason given, or for one that nobody can look up, decides nothing, in every
    mode; the finding names it."""
    verdict = judged(entry(CRITERIA[0]), entry(CRITERIA[1], evidence=evidence))
    assert verdict.passed is None
    assert codes(verdict) == [("criterion_unproven", CRITERIA[1])]
    assert verdict.findings[0].blocking


WHOLE = (entry(CRITERIA[0]), entry(CRITERIA[1]))


@pytest.mark.parametrize(
    ("entries", "at"),
    [
        ((), [*CRITERIA]),
        (WHOLE[:1], [CRITERIA[1]]),
        ((WHOLE[0], entry(CRITERIA[1], None)), [CRITERIA[1]]),
        ((*WHOLE, entry("It is tidy.")), ["It is tidy."]),
        ((WHOLE[0], entry("It is tidy.")), ["It is tidy.", CRITERIA[1]]),
        ((*WHOLE, WHOLE[0]), [CRITERIA[0], CRITERIA[0]]),
    ],
    ids=["none", "fewer", "null", "one more", "another", "repeated"],
)
def test_a_pass_that_does_not_judge_what_was_asked_is_none(entries: tuple[dict[str, Any], ...], at: list[str]) -> None:
    """Whatever the score: each criterion once, true, and no others; what is wrong is named, and asked for again."""
    verdict = judged(*entries, score=97)
    assert verdict.passed is None
    assert codes(verdict) == [("criterion_unjudged", text) for text in at]
    assert all(finding.blocking for finding in verdict.findings)


def test_a_pass_that_judges_all_is_one_however_it_copied_the_texts() -> None:
    """A mark of a list, quotes, the group before the text, case and a last full stop make no other criterion."""
    assert judged(*WHOLE).passed
    assert judged(entry("1. functionality: add(2, 3) is 5"), entry("- “Add()” takes\n no text.")).passed


def test_a_text_that_is_asked_for_twice_is_judged_once_or_twice() -> None:
    """As an acceptance criterion and an edge case, say."""
    for entries in ([WHOLE[0]], [WHOLE[0]] * 2):
        answer = {"passed": True, "score": 95, "feedback": "", "criteria": entries, "findings": []}
        assert judge_review(answer, "strict", 80, (CRITERIA[0], CRITERIA[0])).passed


def test_criteria_that_differ_in_quotes_alone_are_two() -> None:
    """One judgement does not stand for both."""
    answer = {"passed": True, "score": 95, "feedback": "", "criteria": [entry("f('')")], "findings": []}
    verdict = judge_review(answer, "strict", 80, ("f('')", 'f("")'))
    assert (verdict.passed, {finding.code for finding in verdict.findings}) == (None, {"criterion_unjudged"})


def test_a_review_without_criteria_can_pass() -> None:
    """A task need not have any."""
    answer = {"passed": True, "score": 95, "feedback": "Fine.", "criteria": [], "findings": []}
    assert judge_review(answer, "strict", 80, ()).passed


def test_gaps_are_nothing_against_a_fail_and_excuse_no_other_defect() -> None:
    """A fail stands on what it says; and with a failed criterion or a low score it is no longer QC's omission."""
    flaw = {"code": "flaw", "severity": "error", "message": "It is wrong.", "locus": "a.py", "required_fix": "Fix it."}
    assert codes(judged(entry(CRITERIA[0], evidence=""), claims=False, findings=[flaw])) == [("flaw", "a.py")]
    assert judged(entry(CRITERIA[0], False), entry(CRITERIA[1], evidence="")).passed is False
    assert judged(entry(CRITERIA[0], evidence=""), score=10).passed is False


def test_findings_that_block_need_no_finding_about_their_number() -> None:
    """A claimed pass over errors is none, and what stands against it are the errors themselves."""
    flaw = {"code": "flaw", "severity": "error", "message": "It is wrong.", "locus": "a.py", "required_fix": "Fix it."}
    answer = {"passed": True, "score": 95, "feedback": "Fine.", "criteria": [], "findings": [flaw]}
    verdict = judge_review(answer, "normal", 80, ())
    assert (verdict.passed, codes(verdict)) == (False, [("flaw", "a.py")])


def test_too_many_warnings_are_told_as_such() -> None:
    """Warnings block nothing one by one; more of them than the mode allows hold a pass back."""
    mild = {"code": "mild", "severity": "warning", "message": "Hm.", "locus": "a.py", "required_fix": ""}
    answer = {"passed": True, "score": 95, "feedback": "Fine.", "criteria": [], "findings": [mild] * 4}
    verdict = judge_review(answer, "normal", 80, ())
    assert (verdict.passed, codes(verdict)[-1]) == (False, ("review_findings", "findings"))


def test_a_criterion_to_judge_by_reading_needs_no_more_than_words() -> None:
    """Not everything can be run or quoted; a criterion that is also to be met in fact can."""
    words = entry("No secret is kept.", evidence="Read it.")
    answer = {"passed": True, "score": 95, "feedback": "", "criteria": [words], "findings": []}
    assert judge_review(answer, "strict", 80, ("No secret is kept.",), {"No secret is kept."}).passed
    assert judge_review(answer, "strict", 80, ("No secret is kept.",)).passed is None


def test_evidence_that_does_not_hold_is_no_verdict_over_the_work() -> None:
    """A pass for reasons that are not there decides nothing; what was not looked up is neither true nor false."""
    found = judged(*WHOLE).with_evidence(("", "it ended with 1"))
    assert found.passed is None
    assert [criterion.evidence_holds for criterion in found.criteria] == [True, False]
    assert codes(found) == [("evidence_false", CRITERIA[1])]
    assert "it ended with 1" in found.findings[0].message
    assert judged(*WHOLE).with_evidence(("", None)).passed is True


def test_a_model_cannot_call_a_defect_an_omission_of_its_own() -> None:
    """The codes of what an answer lacks are given by the rules alone."""
    flaw = {"code": "evidence_false", "severity": "critical", "message": "It is wrong.", "locus": "a.py"}
    verdict = judged(*WHOLE, findings=[flaw])
    assert (verdict.passed, codes(verdict)[0]) == (False, ("qc_evidence_false", "a.py"))
