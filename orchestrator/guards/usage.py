"""Tokens and dollars of one attempt: reserve before a request, commit after it; what never settled counts in full.

The bound is hard. Before it is reached the worker is warned, and the last turn that is going to fit has its tools
withheld, so that the work can be finished in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from orchestrator.domain.events import Event, ReplyReceived, TurnRequested
from orchestrator.domain.usage_limits import Forecast
from orchestrator.domain.verdict import ALLOW, Evidence, Verdict, Warn
from orchestrator.guards.guard import finishing, stop

Unit = Literal["tokens", "cost"]
_CODES = {"tokens": "token_limit", "cost": "cost_limit"}
_WORDS = {"tokens": "tokens", "cost": "US dollars"}


@dataclass(frozen=True, slots=True)
class UsageGuard:
    """One unit's meter. `limit` None counts nothing. `unpriced`: a turn has no known price, a state of its own:
    under a cost limit it refuses. `peak` is the most that was ever committed, `warned` how many shares of the limit
    were told; `forced` is what a further turn would have brought the sum to when this one's tools were withheld."""

    unit: Unit
    limit: float | None
    shares: tuple[float, ...]
    settled: float = 0.0
    reserved: float = 0.0
    turn: int | None = None
    unpriced: bool = False
    peak: float = 0.0
    warned: int = 0
    pace: Forecast = field(default_factory=Forecast)
    forced: float | None = None

    @property
    def withholds_tools(self) -> bool:
        """Whether the next turn is the last one that is going to fit."""
        return self.limit is not None and self._ahead > self.limit

    @property
    def _ahead(self) -> float:
        return self.settled + self.reserved + self.pace.two_turns

    def observe(self, event: Event) -> tuple[UsageGuard, Verdict]:
        """Reserve at TurnRequested, settle at its ReplyReceived."""
        if self.limit is None:
            return self, ALLOW
        if isinstance(event, TurnRequested):
            return self._reserve(event, self.limit)
        if isinstance(event, ReplyReceived):
            return self._replied(event, self.limit)
        return self, ALLOW

    def _reserve(self, event: TurnRequested, limit: float) -> tuple[UsageGuard, Verdict]:
        amount = event.request.reserved_tokens if self.unit == "tokens" else event.request.reserved_usd
        held = replace(
            self,
            settled=self.settled + self.reserved,  # a turn that never settled counts with what it reserved
            reserved=amount or 0.0,
            turn=event.seq,
            unpriced=self.unpriced or amount is None,
            pace=self.pace.requested(amount or 0.0),
            forced=self._ahead if self.withholds_tools and event.request.tools_withheld else None,
        )
        if held.unpriced:
            return held, stop(
                self.unit, _CODES[self.unit], held.settled, limit, {"unknown price of": event.request.model}
            )
        total = held.settled + held.reserved
        if total <= limit:
            return held._warn(limit)
        evidence = {"spent": held.settled, "reserved for the next turn": held.reserved}
        return held, stop(self.unit, _CODES[self.unit], total, limit, evidence)

    def _replied(self, event: ReplyReceived, limit: float) -> tuple[UsageGuard, Verdict]:
        after = self._settle(event)
        others = [call.tool for call in event.reply.calls if not finishing(call)]
        if self.forced is not None and others:
            evidence: Evidence = {"spent": after.settled, "asked for in the finishing turn": others[0]}
            return after, stop(self.unit, _CODES[self.unit], self.forced, limit, evidence)
        return after._warn(limit)

    def _settle(self, event: ReplyReceived) -> UsageGuard:
        amount = (
            event.reply.prompt_tokens + event.reply.completion_tokens if self.unit == "tokens" else event.reply.cost_usd
        ) or 0.0
        mine = event.seq == self.turn
        unknown = self.unit == "cost" and event.reply.cost_usd is None
        return replace(
            self,
            settled=self.settled + amount,
            reserved=0.0 if mine else self.reserved,
            turn=None if mine else self.turn,
            unpriced=self.unpriced or unknown,
            pace=self.pace.settled(amount),
        )

    def _warn(self, limit: float) -> tuple[UsageGuard, Verdict]:
        """One warning an event: where a turn jumps over two shares, the second is told with its reply."""
        peak = max(self.peak, self.settled + self.reserved)
        held = self if peak == self.peak else replace(self, peak=peak)
        if self.warned >= len(self.shares) or peak + 1e-9 < self.shares[self.warned] * limit:
            return held, ALLOW
        left, share = max(limit - peak, 0.0), self.shares[self.warned]
        message = (
            f"{share:.0%} of what you may use are reached: {peak:.6g} of {limit:g} {_WORDS[self.unit]} are spent or "
            f"reserved, {left:.6g} remain. Finish soon."
        )
        evidence = {"used": peak, "limit": limit, "remaining": left, "share": share}
        return replace(held, warned=self.warned + 1), Warn(
            self.unit, _CODES[self.unit], message, observed=peak, limit=limit, evidence=evidence
        )
