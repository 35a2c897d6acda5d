"""Window: compactions that gain no headroom."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.events import Compacted, Event
from orchestrator.domain.evolve import evolve
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Verdict
from orchestrator.guards.limits import GuardLimits

_RULE = Rule("window", "context_exhausted")
_LEAST = 0.05


@dataclass(frozen=True)
class WindowGuard:
    """A compaction has gained headroom when it leaves at least a twentieth of the cap free. The cap is the window's, or
    after a context-length error the size that was refused. So one that takes nearly nothing away from a request over
    the cap gains none, and one that was due to the number of calls, with room left, has it, whatever it took away. How
    large the request before was, itself compacted, says nothing: a worker whose every reply fills the window works on
    as long as each compaction makes room again. `in_vain` compactions in a row gained none."""

    limits: GuardLimits
    in_vain: int = 0

    def observe(self, event: Event) -> tuple[WindowGuard, Verdict]:
        """Compare the window after a compaction with its cap; one of which the cap is not known says nothing."""
        if not isinstance(event, Compacted) or event.request.token_cap <= 0:
            return self, ALLOW
        if event.request.window_tokens <= (1 - _LEAST) * event.request.token_cap:
            return evolve(self, in_vain=0), ALLOW
        in_vain, most = self.in_vain + 1, self.limits.compactions_without_headroom
        evidence = {
            "tokens before compaction": event.request.uncompacted_tokens,
            "after it": event.request.window_tokens,
            "cap": event.request.token_cap,
        }
        message = (
            f"The conversation is near its limit and compacting it no longer helps ({in_vain} of {most}). "
            "Finish now: ask for less output, and call finish_task."
        )
        return evolve(self, in_vain=in_vain), _RULE.in_a_row(in_vain, most, message, evidence)
