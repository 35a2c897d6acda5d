"""Turns: replies of the model, whatever they ask for."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.events import BudgetDecided, Event, ReplyReceived, ToolRequested, TurnRequested
from orchestrator.domain.evolve import evolve
from orchestrator.domain.model_io import ToolCall
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Verdict
from orchestrator.guards.guard import crossed, finishing

_RULE = Rule("turns", "turn_limit")
_MORE_AT_LEAST = 10


def turns_for(budget: int) -> int:
    """The turns that go with so many tool calls: a fifth more, and at least ten more."""
    return max((6 * budget + 4) // 5, budget + _MORE_AT_LEAST)


@dataclass(frozen=True)
class TurnGuard:
    """At most `limit` turns: `own` where that is set, else those that go with `budget` calls; calls that the PM has
    `granted` enlarge either.

    A turn is a reply that the model made. A request that failed or was never sent, or whose reply was lost, has none
    (`ReplyReceived.failed`): it is no doing of the model's and brought it nothing, its retries are bounded where they
    are made, and what it may have cost counts for tokens and dollars. Of a turn that a crash cut off nobody knows; it
    has no reply either. A reply that paused was made.

    The last turn has its tools withheld. In it `closed_in` is its seq: a call that does not finish is refused, and a
    reply without one that finishes stops."""

    shares: tuple[float, ...]
    budget: int
    own: int | None = None
    granted: int = 0
    used: int = 0
    warned: int = 0
    closed_in: int | None = None

    @property
    def limit(self) -> int:
        """The turns that are allowed, what was granted included."""
        return turns_for(self.budget + self.granted) if self.own is None else self.own + self.granted

    @property
    def withholds_tools(self) -> bool:
        """Whether the next turn is the last one."""
        return self.used + 1 >= self.limit

    def observe(self, event: Event) -> tuple[TurnGuard, Verdict]:
        """Judge a turn before it is sent; count its reply; take grants in."""
        if isinstance(event, TurnRequested):
            return self._requested(event)
        if isinstance(event, ReplyReceived) and not event.failed:
            return self._replied(event)
        if isinstance(event, ToolRequested):
            return self, self._judge(event)
        if isinstance(event, BudgetDecided) and event.granted and event.granted_calls > 0:
            return self._granted(event.granted_calls), ALLOW
        return self, ALLOW

    def _requested(self, event: TurnRequested) -> tuple[TurnGuard, Verdict]:
        if self.used >= self.limit:
            return self, _RULE.stop(self.used, self.limit)
        closed = event.seq if self.withholds_tools and event.request.tools_withheld else None
        return (self if closed == self.closed_in else evolve(self, closed_in=closed)), ALLOW

    def _replied(self, event: ReplyReceived) -> tuple[TurnGuard, Verdict]:
        after = evolve(self, used=self.used + 1)
        if self.closed_in == event.seq and not any(map(_finishes, event.reply.calls)):
            asked = next((call.tool for call in event.reply.calls), "")
            return after, _RULE.stop(after.used, self.limit, {"asked for in the finishing turn": asked})
        return after._warn()

    def _judge(self, event: ToolRequested) -> Verdict:
        if self.closed_in != event.turn_seq or finishing(event.call):
            return ALLOW
        message = f"Refused: turn {self.used} of {self.limit} is the last one, and only to finish in."
        return _RULE.refuse(message, self.used, self.limit)

    def _warn(self) -> tuple[TurnGuard, Verdict]:
        reached, left = crossed(self.used, self.limit, self.shares), self.limit - self.used
        if reached <= self.warned or left <= 0:
            return self, ALLOW
        message = (
            f"{self.used} of {self.limit} turns are used, {left} remain, the last one only to finish in. "
            "Ask for several calls in one reply, and for nothing that was already answered."
        )
        return evolve(self, warned=reached), _RULE.warn(message, self.used, self.limit, {"remaining": left})

    def _granted(self, calls: int) -> TurnGuard:
        """A larger limit has its own warnings."""
        larger = evolve(self, granted=self.granted + calls, closed_in=None)
        return evolve(larger, warned=crossed(larger.used, larger.limit, self.shares))


def _finishes(call: ToolCall) -> bool:
    return finishing(call) and call.defect is None
