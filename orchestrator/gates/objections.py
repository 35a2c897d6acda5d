"""Whether QC and a task's workers come to no end: the same objection over and over, or rejections that name no place.

Neither is mended by another attempt: QC is wrong, or the worker cannot do what it wants, or nobody can tell what that
is. A person has to look, at the work and at the model that reviews it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.domain.finding import Finding

MOST_OBJECTIONS = 3
"""Rejections of a task for the same reason, or for none that has a place."""

_NO_PLACE = frozenset({"", "feedback", "score", "findings"})  # where the rules put what QC gave no place to
_NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True)
class Objection:
    """What QC has rejected a task's work for, in how many attempts; `model` is who said it last."""

    times: int
    words: str
    model: str = ""


def repeated_objection(rejections: Sequence[Sequence[Finding]], model: str) -> Objection | None:
    """The objection of the last of these rejections' findings that stands in so many of them that no other one is of
    use: a finding of QC's by its code and place, or that nothing which blocks has a place. None where there is none."""
    seen = [dict(_objections(findings)) for findings in rejections]
    for key, words in (seen[-1] if seen else {}).items():
        times = sum(key in found for found in seen)
        if times >= MOST_OBJECTIONS:
            return Objection(times, words, model)
    return None


def _objections(findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """Each by what it is known again by; a fingerprint of QC's is over code and place."""
    raised = [finding for finding in findings if finding.source == "review" and finding.blocking]
    placed = [finding for finding in raised if finding.locus not in _NO_PLACE]
    for finding in placed:
        yield finding.fingerprint, f"{finding.code} at {finding.locus}"
    if raised and not placed:
        yield _NOWHERE, "something that it gives no place to"
