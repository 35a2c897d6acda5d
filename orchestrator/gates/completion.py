"""The Decision: complete, incomplete or failed, computed from findings and review, never asked of a model.

How many attempts a task has is arithmetic over what became of the earlier ones: an attempt that a bound stopped, that
was rejected or gave up counts; one that died with its process or failed by our own or the endpoint's fault does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from orchestrator.domain.attempt import AttemptSummary, Decision, FailureReport
from orchestrator.domain.finding import Finding, findings_hash
from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.stop_reasons import ATTEMPT_STOPS, Fault, next_step, sentence

MOST_INFRASTRUCTURE_FAILURES = 2


def decide(
    *,
    findings: Sequence[Finding],
    reviewed: bool,
    ran_out: bool,
    check_id: str,
    stage: int,
    at: datetime,
    diff_hash: str,
) -> Decision:
    """Complete needs clean gates and a review that passed; `ran_out` makes an incomplete attempt the last one."""
    blocking = [finding for finding in findings if finding.blocking]
    decision: Literal["complete", "incomplete", "failed"] = "complete"
    if blocking or not reviewed:
        decision = "failed" if ran_out else "incomplete"
    return Decision(
        decision=decision,
        check_id=check_id,
        reasons=tuple(finding.message for finding in blocking),
        fingerprints=tuple(sorted(finding.fingerprint for finding in blocking)),
        stage=stage,
        pass_id=check_id,
        at=at,
        failure_set_hash=findings_hash(tuple(blocking)),
        diff_hash=diff_hash,
    )


@dataclass(frozen=True, slots=True)
class Ended:
    """How the attempt ends that is being concluded: it is in no history yet."""

    number: int
    status: AttemptStatus
    stop_reason: str
    stop_detail: str


def counts(attempt: AttemptSummary | Ended) -> bool:
    """Whether an ended attempt counts against max_attempts."""
    return _fault(attempt) == "work"


def continues(attempt: AttemptSummary | Ended) -> bool:
    """Whether its successor goes on where it was cut off, with what is left of its budget, and is told no findings."""
    return _fault(attempt) != "work"


def _fault(attempt: AttemptSummary | Ended) -> Fault:
    """Of an interrupted attempt the reason may be a bound, the run's own."""
    if attempt.status == "interrupted" or attempt.stop_reason is None:
        return "outage"
    return ATTEMPT_STOPS[attempt.stop_reason].fault


@dataclass(frozen=True, slots=True)
class RanOut:
    """Why no attempt may follow: a task's stop code, how many attempts ended in that way, and how many may."""

    code: str
    observed: int
    limit: int


def out_of_attempts(earlier: Iterable[AttemptSummary], ended: Ended, *, max_attempts: int, stops: int) -> RanOut | None:
    """Whether an attempt that was not accepted is its task's last."""
    attempts: list[AttemptSummary | Ended] = [*earlier, ended]
    counted = sum(map(counts, attempts))
    stopped = sum(attempt.status == "stopped" for attempt in attempts)
    infrastructure = sum(_fault(attempt) == "infrastructure" for attempt in attempts)
    if stopped >= stops:
        return RanOut("stops_exhausted", stopped, stops)
    if counted >= max_attempts:
        return RanOut("attempts_exhausted", counted, max_attempts)
    if infrastructure >= MOST_INFRASTRUCTURE_FAILURES:
        return RanOut("attempts_exhausted", infrastructure, MOST_INFRASTRUCTURE_FAILURES)
    return None


def diagnose(
    ran_out: RanOut, earlier: Sequence[AttemptSummary], ended: Ended, findings: Sequence[Finding], at: datetime
) -> FailureReport:
    """The report of a task that ran out, drawn from what is recorded, without asking a model."""
    why = sentence(ran_out.code, ran_out.observed, ran_out.limit)
    return FailureReport(
        summary=f"{ran_out.code}: {why} The last ended as {_told(ended)}",
        open_findings=tuple(f"{f.code}: {f.message}" for f in findings if f.blocking),
        attempts=len(earlier) + 1,
        tried=(*map(_tried, earlier), _tried(ended)),
        actions=_actions(ran_out, ended),
        at=at,
    )


def _tried(attempt: AttemptSummary | Ended) -> str:
    return f"attempt {attempt.number}: {attempt.status}, {_told(attempt)}"


def _told(attempt: AttemptSummary | Ended) -> str:
    return f"{attempt.stop_reason or '-'}. {attempt.stop_detail or ''}".strip()


def _actions(ran_out: RanOut, ended: Ended) -> tuple[str, ...]:
    """What a rejection advises is for the attempt after it, and there is none."""
    own = () if ended.status == "rejected" else (next_step(ended.stop_reason),)
    return (*own, next_step(ran_out.code))
