"""Whether another attempt may follow: arithmetic over what became of the earlier ones.

An attempt that a bound stopped, that was rejected or gave up uses up one of the task's attempts; one that died with its
process or failed by our own or the endpoint's fault does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.stop_reasons import ATTEMPT_STOPS, Fault
from orchestrator.gates.convergence import Convergence
from orchestrator.gates.convergence_limits import ConvergenceLimits
from orchestrator.gates.objections import MOST_OBJECTIONS, Objection

_AT_THE_BEGINNING = Convergence()
_DEFAULTS = ConvergenceLimits()
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
    """Why no attempt may follow: a task's stop code, how many attempts ended in that way, how many may, and what more
    is to be told of it."""

    code: str
    observed: int
    limit: int
    told: str = ""


Bound = Literal["person", "run", "stops", "review", "convergence", "attempts"]
"""What decides whether another attempt may follow. A person's order and a bound of the run come first, and end no task
as failed: it waits for who goes on."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How many attempts a task has, how many of them a bound may stop, and when they come no nearer to an end."""

    max_attempts: int
    max_stopped_attempts: int
    convergence: ConvergenceLimits = _DEFAULTS

    def exhausted(
        self,
        attempts: Sequence[EndedAttempt],
        converged: Convergence = _AT_THE_BEGINNING,
        objection: Objection | None = None,
    ) -> Exhausted | None:
        """Whether the last of these attempts, none of which was accepted, is its task's last; `converged` is where the
        task stands behind it, and `objection` what QC has said too often."""
        decided = self.decided(attempts, converged, objection)
        return decided[1] if decided else None

    def decided(
        self, attempts: Sequence[EndedAttempt], converged: Convergence, objection: Objection | None = None
    ) -> tuple[Bound, Exhausted | None] | None:
        """The first line of the table that applies, with what it ends the task by; None where none does."""
        table = self._table(attempts, converged, objection)
        return next(((bound, why) for bound, applies, why in table if applies), None)

    def _table(
        self, attempts: Sequence[EndedAttempt], converged: Convergence, objection: Objection | None
    ) -> Iterator[tuple[Bound, bool, Exhausted | None]]:
        """Who decides, in order of precedence: whether it applies, and what it ends the task by."""
        counted = sum(map(consumes_attempt, attempts))
        stopped = sum(attempt.status == "stopped" for attempt in attempts)
        broken = sum(_fault(attempt) == "infrastructure" for attempt in attempts)
        most = MOST_INFRASTRUCTURE_FAILURES
        yield "person", attempts[-1].status == "cancelled", None
        yield "run", _fault(attempts[-1]) == "outage", None
        stops, tries = self.max_stopped_attempts, self.max_attempts
        yield "stops", stopped >= stops, Exhausted("stops_exhausted", stopped, stops)
        yield "review", objection is not None, _objected(objection) if objection else None
        yield "convergence", converged.failed, Exhausted("not_converging", converged.passes, converged.stage)
        yield "attempts", counted >= tries, Exhausted("attempts_exhausted", counted, tries)
        yield "attempts", broken >= most, Exhausted("attempts_exhausted", broken, most)


def _objected(objection: Objection) -> Exhausted:
    told = f"QC's model is {objection.model or 'unknown'}; what it rejects the work for is {objection.words}."
    return Exhausted("review_not_converging", objection.times, MOST_OBJECTIONS, told)


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
