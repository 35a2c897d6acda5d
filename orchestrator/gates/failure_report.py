"""The report of a task that ran out of attempts, drawn from what is recorded, without asking a model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from orchestrator.domain.attempt import FailureReport
from orchestrator.domain.finding import Finding
from orchestrator.domain.stop_reasons import in_words, next_step, sentence
from orchestrator.gates.retry import EndedAttempt, Exhausted


def failure_report(
    why: Exhausted, attempts: Sequence[EndedAttempt], findings: Sequence[Finding], at: datetime
) -> FailureReport:
    """Why the task failed, what was tried and what can be done; `attempts` are all of them, the last one last."""
    last, counted = attempts[-1], sentence(why.code, why.observed, why.limit)
    return FailureReport(
        summary=f"{counted} The last one: {last.status}, {in_words(last.stop_reason or '-')}.",
        open_findings=tuple(f"{finding.code}: {finding.message}" for finding in findings if finding.blocking),
        attempts=len(attempts),
        tried=tuple(f"attempt {attempt.number}: {attempt.status}, {_told(attempt)}" for attempt in attempts),
        actions=_actions(why, last),
        at=at,
    )


def _told(attempt: EndedAttempt) -> str:
    return f"{attempt.stop_reason or '-'}. {attempt.stop_detail or ''}".strip()


def _actions(why: Exhausted, last: EndedAttempt) -> tuple[str, ...]:
    """What a rejection advises is for the attempt after it, and there is none."""
    own = () if last.status == "rejected" or last.stop_reason is None else (next_step(last.stop_reason),)
    return (*own, next_step(why.code))
