"""Same failure: one call that fails with one error again and again, whatever is edited in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.domain.events import Event, ToolFinished
from orchestrator.domain.evolve import evolve
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Evidence, Verdict
from orchestrator.guards.guard import called, forget, remember
from orchestrator.guards.limits import GuardLimits

_RULE = Rule("same_failure", "same_error")

Failed = tuple[str, int]
"""The error, and how often the call has ended in it and never otherwise."""


@dataclass(frozen=True)
class SameFailureGuard:
    """What a call failed with each time it was made, by its signature. Edits do not end the count: that they change
    nothing is what it counts. Any other end of that call does, another error as well as success, because then the work
    moves."""

    limits: GuardLimits
    failed: Mapping[str, Failed] = field(default_factory=dict)

    def observe(self, event: Event) -> tuple[SameFailureGuard, Verdict]:
        """Add how an executed call ended."""
        if not isinstance(event, ToolFinished) or event.status not in ("ok", "error"):
            return self, ALLOW
        result, signature = event.result, event.call.signature
        if result.ok:
            return (evolve(self, failed=forget(self.failed, signature)) if self.failed else self), ALLOW
        if result.error_kind != "tool" or not result.error_hash:
            return self, ALLOW
        error, count = self.failed.get(signature, ("", 0))
        count = count + 1 if error == result.error_hash else 1
        after = evolve(self, failed=remember(self.failed, signature, (result.error_hash, count)))
        return after, self._judge(event, count)

    def _judge(self, event: ToolFinished, count: int) -> Verdict:
        limits = self.limits
        if count < min(limits.same_failure_warn, limits.same_failure_stop):
            return ALLOW
        evidence: Evidence = {**called(event.call), "error": event.result.text[-160:].strip()}
        if count >= limits.same_failure_stop:
            return _RULE.stop(count, limits.same_failure_stop, evidence)
        if count != limits.same_failure_warn:
            return ALLOW
        message = (
            f"This call has failed {count} times with the same error, whatever was changed in between; at "
            f"{limits.same_failure_stop} the attempt is stopped. Your changes do not reach its cause: read the error "
            "again, and look elsewhere."
        )
        return _RULE.warn(message, count, limits.same_failure_stop, evidence)
