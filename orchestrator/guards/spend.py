"""Tokens and dollars of one attempt: reserve before a request, commit after it; what never settled counts in full."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.domain.events import Event, ReplyReceived, TurnRequested
from orchestrator.domain.verdict import ALLOW, Verdict, Warn
from orchestrator.guards.guard import stop

Unit = Literal["tokens", "cost"]
_CODES = {"tokens": "token_limit", "cost": "cost_limit"}
_WORDS = {"tokens": "tokens", "cost": "US dollars"}


@dataclass(frozen=True, slots=True)
class Spend:
    """One unit's meter. `limit` None counts nothing. `unpriced`: a turn has no known price, a state of its own:
    under a cost limit it refuses."""

    unit: Unit
    limit: float | None
    shares: tuple[float, ...]
    settled: float = 0.0
    reserved: float = 0.0
    turn: int | None = None
    unpriced: bool = False
    warned: int = 0

    def observe(self, event: Event) -> tuple[Spend, Verdict]:
        """Reserve at TurnRequested, settle at its ReplyReceived."""
        if self.limit is None:
            return self, ALLOW
        if isinstance(event, TurnRequested):
            return self._reserve(event, self.limit)
        if isinstance(event, ReplyReceived):
            return self._settle(event)._warn(self.limit)
        return self, ALLOW

    def _reserve(self, event: TurnRequested, limit: float) -> tuple[Spend, Verdict]:
        amount = event.reserved_tokens if self.unit == "tokens" else event.reserved_usd
        held = replace(
            self,
            settled=self.settled + self.reserved,  # a turn that never settled counts with what it reserved
            reserved=amount or 0.0,
            turn=event.seq,
            unpriced=self.unpriced or amount is None,
        )
        if held.unpriced:
            return held, stop(self.unit, _CODES[self.unit], held.settled, limit, {"unknown price of": event.model})
        total = held.settled + held.reserved
        if total <= limit:
            return held, ALLOW
        evidence = {"spent": held.settled, "reserved for the next turn": held.reserved}
        return held, stop(self.unit, _CODES[self.unit], total, limit, evidence)

    def _settle(self, event: ReplyReceived) -> Spend:
        amount = event.prompt_tokens + event.completion_tokens if self.unit == "tokens" else event.cost_usd
        held = 0.0 if event.seq == self.turn else self.reserved
        return replace(
            self,
            settled=self.settled + (amount or 0.0),
            reserved=held,
            turn=None if event.seq == self.turn else self.turn,
            unpriced=self.unpriced or amount is None,
        )

    def _warn(self, limit: float) -> tuple[Spend, Verdict]:
        crossed = sum(self.settled + 1e-9 >= share * limit for share in self.shares)
        if crossed <= self.warned:
            return self, ALLOW
        left = max(limit - self.settled, 0.0)
        message = f"{self.settled:g} of {limit:g} {_WORDS[self.unit]} are spent, {left:g} remain. Finish soon."
        evidence = {"used": self.settled, "limit": limit, "remaining": left}
        return replace(self, warned=crossed), Warn(self.unit, _CODES[self.unit], message, self.settled, limit, evidence)
