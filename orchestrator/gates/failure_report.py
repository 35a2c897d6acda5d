"""The report of a task that ran out of attempts, drawn from what is recorded, without asking a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from orchestrator.domain.attempt import AttemptSummary, FailureReport
from orchestrator.domain.finding import Finding
from orchestrator.domain.lives import FindingLife
from orchestrator.domain.stop_reasons import in_words, next_step, sentence
from orchestrator.gates.lives import finding_lives
from orchestrator.gates.retry import EndedAttempt, Exhausted

RUN_OUT = frozenset({"attempts_exhausted", "not_converging", "review_not_converging"})
"""Ends of a task of which nobody can tell the cause by their code: what a bound has stopped is told by the bound, and
may not be paid for once more."""

_MOST_CHARS = 1_000
_MOST_ACTIONS = 3


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


def reported_by_model(report: FailureReport, answer: Mapping[str, Any]) -> FailureReport:
    """The report with what a model adds to it, which neither replaces nor hides what is recorded; the same one where it
    says nothing that can be read."""
    said = answer.get("summary")
    listed = answer.get("actions")
    summary = _line(said) if isinstance(said, str) else ""
    actions = [_line(each) for each in listed if isinstance(each, str)] if isinstance(listed, list | tuple) else []
    added = tuple(each for each in actions if each)[:_MOST_ACTIONS]
    if not summary:
        return report
    return replace(report, summary=f"{report.summary} {summary}", actions=(*report.actions, *added), by_model=True)


def _line(text: str) -> str:
    """A model's words in one line, not too many of them."""
    words = " ".join(text[: 2 * _MOST_CHARS].split())
    return words if len(words) <= _MOST_CHARS else f"{words[: _MOST_CHARS - 1]}…"


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
