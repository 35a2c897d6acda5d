"""Malformed: replies whose calls cannot be parsed or validated."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator.domain.events import Event, ReplyReceived
from orchestrator.domain.verdict import ALLOW, Verdict, Warn
from orchestrator.guards.guard import stop
from orchestrator.guards.limits import GuardLimits

_NAME = "malformed"
_CODE = "malformed_calls"


@dataclass(frozen=True, slots=True)
class MalformedGuard:
    """`replies` in a row held calls but no valid one. A reply without calls neither counts nor ends the row, so that
    talking in between is no way around."""

    limits: GuardLimits
    replies: int = 0

    def observe(self, event: Event) -> tuple[MalformedGuard, Verdict]:
        """Count replies of which no call can be executed."""
        if not isinstance(event, ReplyReceived) or not event.reply.calls:
            return self, ALLOW
        if any(call.defect is None for call in event.reply.calls):
            return (replace(self, replies=0) if self.replies else self), ALLOW
        return replace(self, replies=self.replies + 1)._judge(event.reply.calls[0].defect or "")

    def _judge(self, defect: str) -> tuple[MalformedGuard, Verdict]:
        most = self.limits.malformed_replies
        if self.replies >= most:
            return self, stop(_NAME, _CODE, self.replies, most, {"defect": defect})
        if self.replies < most - 1:
            return self, ALLOW
        message = (
            f"{self.replies} replies in a row held no valid call; at {most} the attempt is stopped. "
            "Send arguments as one JSON object that fits the tool's schema."
        )
        return self, Warn(_NAME, _CODE, message, observed=self.replies, limit=most, evidence={"defect": defect})
