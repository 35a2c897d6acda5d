"""No action: replies that ask for no tool."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator.domain.events import Event, ReplyReceived
from orchestrator.domain.verdict import ALLOW, Verdict, Warn
from orchestrator.guards.guard import stop
from orchestrator.guards.limits import GuardLimits

_NAME = _CODE = "no_action"


@dataclass(frozen=True, slots=True)
class NoActionGuard:
    """`turns` replies in a row asked for nothing; a reply that failed is none."""

    limits: GuardLimits
    turns: int = 0

    def observe(self, event: Event) -> tuple[NoActionGuard, Verdict]:
        """Count replies without a call."""
        if not isinstance(event, ReplyReceived) or event.failed:
            return self, ALLOW
        if event.reply.calls:
            return (replace(self, turns=0) if self.turns else self), ALLOW
        return replace(self, turns=self.turns + 1)._judge()

    def _judge(self) -> tuple[NoActionGuard, Verdict]:
        most = self.limits.no_action_turns
        if self.turns >= most:
            return self, stop(_NAME, _CODE, self.turns, most)
        if self.turns < most - 1:
            return self, ALLOW
        message = f"{self.turns} replies in a row called no tool; at {most} the attempt is stopped. Call a tool."
        return self, Warn(_NAME, _CODE, message, self.turns, most)
