"""No action: replies that ask for no tool."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.events import Event, ReplyReceived
from orchestrator.domain.evolve import evolve
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Verdict
from orchestrator.guards.guard import cuts_seen
from orchestrator.guards.limits import GuardLimits

_RULE = Rule("no_action", "no_action")


@dataclass(frozen=True)
class NoActionGuard:
    """`turns` replies in a row asked for nothing, `cut` of them because they ended at their greatest length; a reply
    that failed is none, one that paused is."""

    limits: GuardLimits
    turns: int = 0
    cut: int = 0

    def observe(self, event: Event) -> tuple[NoActionGuard, Verdict]:
        """Count replies without a call."""
        if not isinstance(event, ReplyReceived) or event.failed:
            return self, ALLOW
        if event.reply.calls:
            return (evolve(self, turns=0, cut=0) if self.turns else self), ALLOW
        turns, most = self.turns + 1, self.limits.no_action_turns
        message = f"{turns} replies in a row called no tool; at {most} the attempt is stopped. Call a tool."
        cut = self.cut + (event.reply.finish_reason == "length")
        return evolve(self, turns=turns, cut=cut), _RULE.in_a_row(turns, most, message, cuts_seen(cut))
