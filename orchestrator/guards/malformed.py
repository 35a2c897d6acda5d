"""Malformed: replies whose calls cannot be parsed or validated."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.events import Event, ReplyReceived
from orchestrator.domain.evolve import evolve
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Verdict
from orchestrator.guards.guard import cuts_seen
from orchestrator.guards.limits import GuardLimits

_RULE = Rule("malformed", "malformed_calls")


@dataclass(frozen=True)
class MalformedGuard:
    """`replies` in a row held calls but no valid one, `cut` of them because they ended at their greatest length. A
    reply without calls neither counts nor ends the row, so that talking in between is no way around."""

    limits: GuardLimits
    replies: int = 0
    cut: int = 0

    def observe(self, event: Event) -> tuple[MalformedGuard, Verdict]:
        """Count replies of which no call can be executed."""
        if not isinstance(event, ReplyReceived) or not event.reply.calls:
            return self, ALLOW
        if any(call.defect is None for call in event.reply.calls):
            return (evolve(self, replies=0, cut=0) if self.replies else self), ALLOW
        replies, most = self.replies + 1, self.limits.malformed_replies
        message = (
            f"{replies} replies in a row held no valid call; at {most} the attempt is stopped. "
            "Send arguments as one JSON object that fits the tool's schema."
        )
        cut = self.cut + (event.reply.finish_reason == "length")
        evidence = {"defect": event.reply.calls[0].defect or "", **cuts_seen(cut)}
        return evolve(self, replies=replies, cut=cut), _RULE.in_a_row(replies, most, message, evidence)
