"""Whether another attempt may follow: arithmetic over what became of the earlier ones.

An attempt that a bound stopped, that was rejected or gave up uses up one of the task's attempts; one that died with its
process or failed by our own or the endpoint's fault does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.stop_reasons import ATTEMPT_STOPS, Fault

MOST_INFRASTRUCTURE_FAILURES = 2


class EndedAttempt(Protocol):
    """What must be known of an attempt that has ended, or is about to."""

    @property
    def number(self) -> int: ...
    @property
    def status(self) -> AttemptStatus: ...
    @property
    def stop_reason(self) -> str | None: ...
    @property
    def stop_detail(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Exhausted:
    """Why no attempt may follow: a task's stop code, how many attempts ended in that way, and how many may."""

    code: str
    observed: int
    limit: int


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How many attempts a task has, and how many of them a bound may stop."""

    max_attempts: int
    max_stopped_attempts: int

    def exhausted(self, attempts: Sequence[EndedAttempt]) -> Exhausted | None:
        """Whether the last of these attempts, none of which was accepted, is its task's last."""
        counted = sum(map(consumes_attempt, attempts))
        stopped = sum(attempt.status == "stopped" for attempt in attempts)
        infrastructure = sum(_fault(attempt) == "infrastructure" for attempt in attempts)
        if stopped >= self.max_stopped_attempts:
            return Exhausted("stops_exhausted", stopped, self.max_stopped_attempts)
        if counted >= self.max_attempts:
            return Exhausted("attempts_exhausted", counted, self.max_attempts)
        if infrastructure >= MOST_INFRASTRUCTURE_FAILURES:
            return Exhausted("attempts_exhausted", infrastructure, MOST_INFRASTRUCTURE_FAILURES)
        return None


def consumes_attempt(attempt: EndedAttempt) -> bool:
    """Whether an ended attempt counts against max_attempts."""
    return _fault(attempt) == "work"


def resumes(attempt: EndedAttempt) -> bool:
    """Whether its successor goes on where it was cut off, with what is left of its budget, and is told no findings."""
    return _fault(attempt) != "work"


def _fault(attempt: EndedAttempt) -> Fault:
    """Of an interrupted attempt the reason may be a bound, the run's own."""
    if attempt.status == "interrupted" or attempt.stop_reason is None:
        return "outage"
    return ATTEMPT_STOPS[attempt.stop_reason].fault
