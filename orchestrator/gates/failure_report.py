"""The report of a task that ran out of attempts, drawn from what is recorded, without asking a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from orchestrator.domain.attempt import AttemptSummary, FailureReport
from orchestrator.domain.finding import Finding
from orchestrator.domain.lives import FindingLife
from orchestrator.domain.stop_reasons import in_words, next_step, sentence
from orchestrator.gates.lives import finding_lives
from orchestrator.gates.retry import EndedAttempt, Exhausted


def failure_report(
    why: Exhausted, earlier: Sequence[AttemptSummary], last: EndedAttempt, findings: Sequence[Finding], at: datetime
) -> FailureReport:
    """Why the task failed, what was found and how often, what was tried and what can be done; `last` is the attempt
    that ends it, with these findings."""
    attempts: tuple[EndedAttempt, ...] = (*earlier, last)
    lives = {life.fingerprint: life for life in finding_lives(earlier)}
    seen, counted = _seen_before(earlier), f"{sentence(why.code, why.observed, why.limit)} {why.told}".strip()
    return FailureReport(
        summary=f"{counted} The last one: {last.status}, {in_words(last.stop_reason or '-')}.",
        open_findings=tuple(
            _open(finding, seen, lives.get(finding.fingerprint), last.number)
            for finding in findings
            if finding.blocking
        ),
        attempts=len(attempts),
        tried=tuple(f"attempt {attempt.number}: {attempt.status}, {_told(attempt)}" for attempt in attempts),
        actions=_actions(why, last),
        at=at,
    )


def _seen_before(earlier: Sequence[AttemptSummary]) -> Mapping[str, int]:
    """In how many of these attempts each fingerprint was found that kept one from being accepted."""
    decided = (attempt.decision.fingerprints for attempt in earlier if attempt.decision)
    return Counter(fingerprint for fingerprints in decided for fingerprint in set(fingerprints))


def _open(finding: Finding, seen: Mapping[str, int], life: FindingLife | None, number: int) -> str:
    """The finding, in how many attempts it was found, and when, where it had gone in between."""
    times = seen.get(finding.fingerprint, 0) + 1
    had_gone = life is not None and any(mark == "gone" for _, mark in life.marks)
    when = f": {life.told}, there in {number}" if life and had_gone else ""
    return f"{finding.code}: {finding.message}" + (f" (in {times} attempts{when})" if times > 1 else "")


def _told(attempt: EndedAttempt) -> str:
    return f"{attempt.stop_reason or '-'}. {attempt.stop_detail or ''}".strip()


def _actions(why: Exhausted, last: EndedAttempt) -> tuple[str, ...]:
    """What a rejection advises is for the attempt after it, and there is none."""
    own = () if last.status == "rejected" or last.stop_reason is None else (next_step(last.stop_reason),)
    return (*own, next_step(why.code))
