"""A rule that bounds an attempt, and the verdicts in which it is told."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.explained import explain
from orchestrator.domain.verdict import ALLOW, Evidence, Refuse, Stop, Verdict, Warn


@dataclass(frozen=True, slots=True)
class Rule:
    """The guard that keeps it and the stop code that it ends with: both are recorded with every verdict. `observed` is
    the figure that was judged and `limit` what it is judged by, in the rule's own unit."""

    guard: str
    code: str

    def warn(self, message: str, observed: float, limit: float, evidence: Evidence | None = None) -> Warn:
        """The worker is told this."""
        return Warn(self.guard, self.code, message, observed=observed, limit=limit, evidence=evidence or {})

    def refuse(self, message: str, observed: float, limit: float, evidence: Evidence | None = None) -> Refuse:
        """The call is not executed, and this is its result."""
        return Refuse(self.guard, self.code, message, observed=observed, limit=limit, evidence=evidence or {})

    def stop(self, observed: float, limit: float, evidence: Evidence | None = None) -> Stop:
        """The attempt ends, with the taxonomy's message. Raises KeyError for a code that is not in it."""
        message = explain(self.code, observed, limit, evidence)
        return Stop(self.guard, self.code, message, observed=observed, limit=limit, evidence=evidence or {})

    def in_a_row(self, count: int, most: int, message: str, evidence: Evidence | None = None) -> Verdict:
        """What is said to the `count`th of something that may happen `most` times in a row: a warning before the last
        time, a Stop at it."""
        if count >= most:
            return self.stop(count, most, evidence)
        return self.warn(message, count, most, evidence) if count == most - 1 else ALLOW
