"""The life of each finding over a task's check passes, and the one thing that is said of it: that it is back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from orchestrator.domain.attempt import AttemptSummary
from orchestrator.domain.finding import Finding
from orchestrator.domain.lives import Course, FindingLife, Mark, PastAttempt
from orchestrator.gates.finding import make_finding
from orchestrator.gates.progress import CheckPass, chained, recorded_pass

MOST_ATTEMPTS = 5
"""Attempts that the next worker is told of."""


def finding_lives(attempts: Iterable[AttemptSummary]) -> tuple[FindingLife, ...]:
    """What became of everything that kept one of these attempts from being accepted, in the order of its coming."""
    told = tuple(attempts)
    passes = chained(found for found in map(recorded_pass, told) if found is not None)
    return lives(passes, [finding for attempt in told for finding in attempt.findings])


def lives(passes: Sequence[CheckPass], findings: Iterable[Finding]) -> tuple[FindingLife, ...]:
    """The same of passes that carry along what nobody looked for; `findings` name what blocks."""
    known = {finding.fingerprint: finding for finding in findings if finding.fingerprint}
    names = dict.fromkeys(name for found in passes for name, _ in found.failures)
    return tuple(
        FindingLife(
            fingerprint=name,
            code=known[name].code if name in known else "",
            locus=known[name].locus if name in known else "",
            marks=tuple(_marks(name, passes)),
        )
        for name in names
    )


def course(attempts: Sequence[AttemptSummary]) -> Course | None:
    """What the next worker is told of the last attempts; None where there are fewer than two."""
    last = tuple(attempts[-MOST_ATTEMPTS:])
    if len(last) < 2:
        return None
    told = tuple(
        PastAttempt(
            number=each.number, status=each.status, reason=each.stop_reason or each.status, outcome=each.outcome
        )
        for each in last
    )
    return Course(told, finding_lives(last))


def judge_returned(back: Iterable[str], known: Iterable[FindingLife]) -> tuple[Finding, ...]:
    """What was mended and is there again: told with its attempts, and no reason of its own to reject."""
    of = {life.fingerprint: life for life in known}
    return tuple(
        make_finding(
            "oscillation",
            "reappeared",
            of[name].locus,
            f"{of[name].code} was mended and is back: {of[name].told}.",
            "Find out what the attempt did that mended it, and keep that.",
            severity="warning",
            symptom=name,
        )
        for name in sorted(back)
        if name in of
    )


def _marks(name: str, passes: Sequence[CheckPass]) -> Iterator[tuple[int, Mark]]:
    ever = before = False
    for found in passes:
        there = name in dict(found.failures)
        mark = _mark(name, found, there=there, before=before, ever=ever)
        if mark is not None:
            yield found.attempt, mark
        ever, before = ever or there, there


def _mark(name: str, found: CheckPass, *, there: bool, before: bool, ever: bool) -> Mark | None:
    if name in found.carried:
        return "unobserved"
    if there:
        return "still" if before else "back" if ever else "new"
    if ever and name in found.milder:
        return "milder"
    return "gone" if before else None
