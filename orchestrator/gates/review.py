"""Rules over QC's answer: what it must hold to count, and when a claimed pass is none.

A pass judges all that the task asks for, and nothing else: each acceptance criterion, edge case and verification
criterion once, true, with evidence. A model that passes what it did not look at says less than that. Such an answer is
no verdict at all: QC has failed, and nothing is held against the work.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from orchestrator.domain.finding import Finding, Severity
from orchestrator.domain.review import TOLERANCES, Criterion, Proof, Strictness
from orchestrator.gates.evidence import read_proof
from orchestrator.gates.finding import make_finding

_SEVERITIES: Mapping[str, Severity] = {"critical": "critical", "error": "error", "warning": "warning", "info": "info"}
_GROUPS: Mapping[str, Literal["security", "functionality", "code_quality", "other"]] = {
    "security": "security",
    "functionality": "functionality",
    "code_quality": "code_quality",
}


GAPS = frozenset({"criterion_unjudged", "criterion_unproven", "evidence_false"})
"""Codes of what a claimed pass lacks: QC's omissions, and no defects of the work."""

MOST_REVIEWS = 2
"""Times that QC is asked about one attempt: once more where its answer decides nothing or has gaps."""

# What a model changes in a text that it was to give as it stands: a list's mark, quotes, the last full stop.
_MARK = re.compile(r"\A\s*(?:[-*\u2022]|\d+[.)])\s+")
_GROUP = re.compile(r"\A(?:security|functionality|code[_ ]quality|other)\s*:\s*")
_QUOTES = str.maketrans("", "", "`*\"'\u2018\u2019\u201c\u201d")


class ReviewInvalidError(ValueError):
    """The answer is no review: QC failed, not the worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The review as the rules see it: `passed` may differ from what the model claimed, and is None where it claimed a
    pass and nothing is against that but gaps (a criterion not judged, or without evidence that holds): then there is no
    verdict. `proofs` are what the criteria cite, one each."""

    passed: bool | None
    score: int
    feedback: str
    criteria: tuple[Criterion, ...]
    findings: tuple[Finding, ...]
    proofs: tuple[Proof | None, ...] = ()

    def with_evidence(self, against: Sequence[str | None]) -> Judgement:
        """The judgement behind a look at its proofs: of each why it does not hold, empty where it does, None where
        there was nothing to look up."""
        criteria = tuple(
            replace(criterion, evidence_holds=None if why is None else not why)
            for criterion, why in zip(self.criteria, against, strict=True)
        )
        wrong = tuple(_false(criterion, why) for criterion, why in zip(criteria, against, strict=True) if why)
        passed = None if wrong and self.passed else self.passed
        return replace(self, passed=passed, criteria=criteria, findings=(*self.findings, *wrong))


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarks:
    """What can be read of an answer that decides nothing: it counts for nothing, and is told all the same."""

    feedback: str
    criteria: tuple[Criterion, ...]
    findings: tuple[Finding, ...]


def read_remarks(answer: Mapping[str, Any]) -> Remarks | None:
    """Each entry of submit_review's arguments that can be read, whatever is wrong with the others; where nothing else
    says why QC fails the work, its feedback is the finding. None where there is nothing to tell."""
    feedback = _text(answer, "feedback").strip()
    criteria = tuple(_criteria(_readable(answer, "criteria")))
    found = [f for f in _findings(_readable(answer, "findings")) if f.message.strip()]
    found += [_failed_criterion(criterion) for criterion in criteria if criterion.passed is False]
    if answer.get("passed") is False and feedback and not any(f.blocking for f in found):
        found.append(_finding("review_failed", feedback, "feedback"))
    return Remarks(feedback=feedback, criteria=criteria, findings=tuple(found)) if feedback or found else None


def _readable(answer: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    raw = answer.get(name)
    return [entry for entry in raw if isinstance(entry, Mapping)] if isinstance(raw, list | tuple) else []


def judge_review(
    answer: Mapping[str, Any],
    strictness: Strictness,
    threshold: int,
    asked: Sequence[str],
    by_reading: Collection[str] = (),
) -> Judgement:
    """The rules' verdict over submit_review's arguments, where `asked` are the texts of all criteria that a pass has to
    judge; but for those `by_reading`, what each cites must be something that can be looked up. Raises
    ReviewInvalidError when they decide nothing."""
    score, claimed = _score(answer), answer.get("passed")
    if not isinstance(claimed, bool):
        raise ReviewInvalidError(f"passed must be true or false, not {_shown(claimed)}")
    feedback = _text(answer, "feedback").strip()
    entries = _entries(answer, "criteria")
    criteria, proofs = tuple(_criteria(entries)), tuple(read_proof(entry.get("evidence")) for entry in entries)
    findings = tuple(_findings(_entries(answer, "findings")))
    held = _held_against(claimed, score, threshold, criteria, findings, feedback, strictness)
    passes = claimed and not held and not _too_many(findings, strictness)
    gaps = tuple(_gaps(criteria, asked, by_reading)) if passes else ()
    return Judgement(
        passed=None if gaps else passes,
        score=score,
        feedback=feedback,
        criteria=criteria,
        findings=(*findings, *held, *gaps),
        proofs=proofs,
    )


def _score(answer: Mapping[str, Any]) -> int:
    score = answer.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 100:
        raise ReviewInvalidError(f"score must be a number from 0 to 100, not {_shown(score)}")
    return round(score)


def _shown(value: object) -> str:
    """A value as an error names it: its own text where that is short, else its kind."""
    return repr(value)[:80] if isinstance(value, str | float | bool | None) else f"a {type(value).__name__}"


def _entries(answer: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The objects of a list. Raises ReviewInvalidError for anything else: what cannot be read may be a defect."""
    raw = answer.get(name)
    if raw is None:
        return []
    if not isinstance(raw, list | tuple) or not all(isinstance(entry, Mapping) for entry in raw):
        raise ReviewInvalidError(f"{name} must be a list of objects")
    return list(raw)


def _text(entry: Mapping[str, Any], name: str) -> str:
    """A text field; anything but a text is none."""
    value = entry.get(name)
    return value if isinstance(value, str) else ""


def _held_against(
    claimed: bool,
    score: int,
    threshold: int,
    criteria: Sequence[Criterion],
    findings: Sequence[Finding],
    feedback: str,
    strictness: Strictness,
) -> tuple[Finding, ...]:
    """What turns a claimed pass into a fail, or what a fail without findings must at least say."""
    failed = tuple(_failed_criterion(c) for c in criteria if c.passed is False)
    if claimed and score < threshold:
        return (*failed, _finding("score_below_threshold", f"Score {score}, needed {threshold}. {feedback}", "score"))
    if failed or any(f.blocking for f in findings):
        return failed
    if too_many := _too_many(findings, strictness):
        return (_finding("review_findings", too_many, "findings"),)
    if claimed:
        return ()
    if not feedback:
        raise ReviewInvalidError("a fail must say why: findings, failed criteria or feedback")
    return (_finding("review_failed", feedback, "feedback"),)


def _too_many(findings: Sequence[Finding], strictness: Strictness) -> str:
    count, most = Counter(finding.severity for finding in findings), TOLERANCES[strictness]
    if count["critical"] or count["error"] > most.errors:
        return f"{count['critical']} critical and {count['error']} errors in a {strictness} review."
    if count["warning"] > most.warnings:
        return f"{count['warning']} warnings, a {strictness} review allows {most.warnings}."
    return ""


def _criteria(raw: Sequence[Mapping[str, Any]]) -> Iterator[Criterion]:
    for entry in raw:
        passed, proof = entry.get("passed"), read_proof(entry.get("evidence"))
        yield Criterion(
            group=_GROUPS.get(_text(entry, "group"), "other"),
            text=_text(entry, "text"),
            passed=passed if isinstance(passed, bool) else None,
            evidence=str(proof or ""),
            evidence_kind=proof.kind if proof else None,
        )


def _findings(raw: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for entry in raw:
        severity = _SEVERITIES.get(_text(entry, "severity").lower(), "error")
        code = _text(entry, "code") or "review"
        yield _finding(
            f"qc_{code}" if code in GAPS else code,  # what these say is ours to say
            _text(entry, "message"),
            _text(entry, "locus"),
            severity=severity,
            required_fix=_text(entry, "required_fix"),
        )


def _failed_criterion(criterion: Criterion) -> Finding:
    message = f"Criterion not met: {criterion.text}. {criterion.evidence}".strip()
    return _finding("criterion_failed", message, criterion.text, required_fix=f"Meet: {criterion.text}")


def _gaps(criteria: Sequence[Criterion], asked: Sequence[str], by_reading: Collection[str]) -> Iterator[Finding]:
    """What a claimed pass lacks. The same text may be asked for twice, and judged once or twice."""
    read = frozenset(map(_plain, by_reading))
    wanted, most = Counter(map(_plain, dict.fromkeys(asked))), Counter(map(_plain, asked))
    judged = [(criterion, _named(criterion.text, most)) for criterion in criteria]
    seen = Counter(key for _, key in judged)
    for criterion, key in judged:
        if key not in most:
            yield _beside(criterion, "QC judged what is no criterion of the task")
        elif seen[key] > most[key]:
            yield _beside(criterion, "QC judged a criterion more than once")
        elif criterion.passed is None:
            yield _open("unjudged", "Criterion that was not judged", criterion.text)
        elif criterion.evidence_kind is None:
            yield _open("unproven", "Criterion without evidence", criterion.text)
        elif criterion.evidence_kind == "text" and key not in read:
            yield _open("unproven", "Criterion without a command or lines of a file that show it", criterion.text)
    for text in dict.fromkeys(asked):
        if seen[_plain(text)] < wanted[_plain(text)]:
            yield _open("unjudged", "Criterion that was not judged", text)


def _named(text: str, known: Mapping[str, int]) -> str:
    """The criterion that an entry names, with or without the group that the assignment shows before it."""
    key = _plain(text)
    return key if key in known else _GROUP.sub("", key, count=1)


def _plain(text: str) -> str:
    """The text without what is lost when it is copied by hand."""
    return " ".join(_MARK.sub("", text, count=1).translate(_QUOTES).casefold().split()).rstrip(".;")


def _open(code: str, what: str, text: str) -> Finding:
    return _finding(f"criterion_{code}", f"{what}: {text}", text, required_fix=f"Show that it holds: {text}")


def _false(criterion: Criterion, why: str) -> Finding:
    message = f"Evidence that does not hold: {criterion.evidence}, for {criterion.text!r}: {why}."
    fix = "Nothing in the work: QC has to cite what is so."
    return _finding("evidence_false", message, criterion.text, required_fix=fix)


def _beside(criterion: Criterion, what: str) -> Finding:
    fix = "Nothing in the work: QC has to judge each criterion of the task once, and nothing else."
    return _finding("criterion_unjudged", f"{what}: {criterion.text}", criterion.text, required_fix=fix)


def _finding(code: str, message: str, locus: str, *, severity: Severity = "error", required_fix: str = "") -> Finding:
    return make_finding("review", code, locus, message, required_fix or message, severity=severity)
