"""Stall: the same batch of calls asked for again and again without a new result (R1.7, R1.8)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from orchestrator.domain.events import Event, ReplyReceived, ToolFinished, TurnRequested
from orchestrator.domain.verdict import ALLOW, Verdict, Warn
from orchestrator.guards.cycle import Cycle
from orchestrator.guards.guard import finishing, stop
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.tree import Tree

NAME = "stall"
CODE = "stalled"
_MASK = (1 << 64) - 1

Batch = frozenset[str]
"""The signatures that one reply asked for; order and repeats within it say nothing."""


@dataclass(frozen=True, slots=True)
class Stall:
    """`count` identical batches in a row with equal results over one tree; `outcome` sums up the newest one's results
    so far and `earlier` is the one before's. `forcing`: the next turn has its tools withheld; `forced`: this one."""

    limits: GuardLimits
    batches: Cycle
    batch: Batch = frozenset()
    count: int = 0
    outcome: int = 0
    earlier: int | None = None
    tree: Tree = field(default_factory=Tree)
    forcing: bool = False
    forced: bool = False

    @classmethod
    def begin(cls, limits: GuardLimits) -> Stall:
        """Before the first turn."""
        return cls(limits, Cycle(limits.cycle_longest))

    def observe(self, event: Event) -> tuple[Stall, Verdict]:
        """Judge what a reply asks for; sum up what its calls bring."""
        if isinstance(event, ToolFinished):
            return self._finished(event), ALLOW
        if isinstance(event, TurnRequested):
            forced = self.forcing and event.tools_withheld
            return (self if forced == self.forced else replace(self, forced=forced)), ALLOW
        if isinstance(event, ReplyReceived) and not event.failed:
            return self._replied(event)
        return self, ALLOW

    def _finished(self, event: ToolFinished) -> Stall:
        # An infrastructure error says nothing about the worker: it makes the batch's outcome unlike any other.
        brought = event.seq if event.error_kind == "infrastructure" else event.outcome_hash
        outcome = (self.outcome + hash((event.call.signature, brought))) & _MASK
        return replace(self, outcome=outcome, tree=self.tree.after(event))

    def _replied(self, event: ReplyReceived) -> tuple[Stall, Verdict]:
        refuses = any(not finishing(call) for call in event.calls)
        if self.forced and refuses:
            return self, stop(NAME, CODE, self.count + 1, self.limits.stall_batches + 1, _tools(event))
        here = replace(self, forced=False, forcing=False) if self.forced else self
        if not event.calls:
            return here, ALLOW
        then = here._next(frozenset(call.signature for call in event.calls))
        if refuses and then.batches.completed(self.limits.cycle_rounds) is not None:
            return then, stop(NAME, CODE, self.limits.cycle_rounds, self.limits.cycle_rounds, _tools(event))
        return then._judge(event)

    def _next(self, batch: Batch) -> Stall:
        """The batch before is complete: fold its outcome in, and begin the new one."""
        brought = hash((self.outcome, self.tree.id))
        batches = self.batches.add((self.batch, brought)) if self.batch else self.batches
        if batch != self.batch:
            return Stall(self.limits, batches, batch, count=1, tree=self.tree)
        news = self.earlier is not None and self.earlier != brought
        return replace(
            self,
            batches=batches,
            count=2 if news else self.count + 1,
            outcome=0,
            earlier=brought,
            forcing=self.forcing and not news,
        )

    def _judge(self, event: ReplyReceived) -> tuple[Stall, Verdict]:
        first = self.limits.stall_batches
        if self.count >= first + 2:
            return self, stop(NAME, CODE, self.count, first + 1, _tools(event))
        if self.count == first + 1:
            told = "your next turn has its tools withheld: finish then, or give up and say why."
            return replace(self, forcing=True), self._warn(f"Stalled: {told}", event)
        if self.count == first:
            return self, self._warn("Do something else, or finish.", event)
        return self, ALLOW

    def _warn(self, advice: str, event: ReplyReceived) -> Warn:
        message = f"You asked for the same calls {self.count} times in a row and the results did not change. {advice}"
        return Warn(NAME, CODE, message, self.count, self.limits.stall_batches + 1, _tools(event))


def _tools(event: ReplyReceived) -> dict[str, str | int | float | bool | list[str | int | float | bool | None] | None]:
    return {"tools": [call.tool for call in event.calls[:8]]}
