"""Stall: the same batch of calls asked for again and again without a new result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.domain.events import Event, ReplyReceived, ToolFinished, TurnRequested
from orchestrator.domain.evolve import evolve
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Evidence, Stop, Verdict, Warn
from orchestrator.guards.cycle import Cycle
from orchestrator.guards.guard import finishing, remember, told_call
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.tree import TreeState

_RULE = Rule("stall", "stalled")
_TOLD = 8

CallBatch = frozenset[str]
"""The signatures that one reply asked for; order and repeats within it say nothing."""

CallOutcome = tuple[frozenset[tuple[str, str]], str]
"""What a batch brought: its calls' outcomes by signature, and the tree that it left."""


@dataclass(frozen=True)
class StallGuard:
    """`count` identical batches in a row with equal results over one tree; `results` are the newest one's so far and
    `earlier` is what the one before brought. `forcing`: the next turn is to have its tools withheld, unless the newest
    batch brings something new; `forced`: this one has.

    A refusal is no new result: a call that was refused as a repeated failure counts as failed alike once more, and the
    advice that goes with it is to finish. In the forced turn another call stops. A text is borne once an
    attempt (`borne`): it gives the tools back, but the second forced turn that ends without finishing stops, whatever
    batch led to it. A call that tries to finish and is malformed leaves the tools withheld."""

    limits: GuardLimits
    batches: Cycle
    batch: CallBatch = frozenset()
    count: int = 0
    results: Mapping[str, str] = field(default_factory=dict)
    earlier: CallOutcome | None = None
    tree: TreeState = field(default_factory=TreeState)
    forcing: bool = False
    forced: bool = False
    borne: bool = False

    @classmethod
    def begin(cls, limits: GuardLimits) -> StallGuard:
        """Before the first turn."""
        return cls(limits, Cycle(limits.cycle_longest))

    @property
    def forces(self) -> bool:
        """Whether the next turn has its tools withheld, now that the newest batch has its results."""
        return self.forcing and self._brought() == self.earlier

    def observe(self, event: Event) -> tuple[StallGuard, Verdict]:
        """Judge what a reply asks for; sum up what its calls bring."""
        if isinstance(event, ToolFinished):
            return self._finished(event), ALLOW
        if isinstance(event, TurnRequested):
            return self._turn(event), ALLOW
        if isinstance(event, ReplyReceived) and not event.failed:
            return self._forced_reply(event) if self.forced else self._replied(event)
        return self, ALLOW

    def _finished(self, event: ToolFinished) -> StallGuard:
        here, signature = evolve(self, tree=self.tree.after(event)), event.call.signature
        if signature not in self.batch:
            return here
        brought = event.result.outcome_hash
        if event.result.error_kind == "infrastructure":  # it says nothing about the worker: unlike any other outcome
            brought = str(event.seq)
        elif event.status == "refused" and self.earlier is not None:
            brought = dict(self.earlier[0]).get(signature, brought)
        return evolve(here, results=remember(self.results, signature, brought))

    def _turn(self, event: TurnRequested) -> StallGuard:
        forces = self.forces
        forced = forces and event.request.tools_withheld
        unchanged = forces == self.forcing and forced == self.forced
        return self if unchanged else evolve(self, forcing=forces, forced=forced)

    def _brought(self) -> CallOutcome:
        return frozenset(self.results.items()), self.tree.id

    def _forced_reply(self, event: ReplyReceived) -> tuple[StallGuard, Verdict]:
        others = [call for call in event.reply.calls if not finishing(call)]
        if others:
            again = frozenset(call.signature for call in event.reply.calls) == self.batch
            return self, self._stop(event, self.count + again, f"asked for {'the same' if again else 'other'} calls")
        if event.reply.calls:
            return self, ALLOW
        if self.borne:
            return self, self._stop(event, self.count, "replied with text for the second time")
        return evolve(self, forcing=False, forced=False, borne=True), ALLOW

    def _stop(self, event: ReplyReceived, count: int, did: str) -> Stop:
        return _RULE.stop(count, self.limits.stall_batches + 1, {"told to finish, it": did, **_tools(event)})

    def _replied(self, event: ReplyReceived) -> tuple[StallGuard, Verdict]:
        if not event.reply.calls:
            return self, ALLOW
        then = self._next(frozenset(call.signature for call in event.reply.calls))
        refuses = any(not finishing(call) for call in event.reply.calls)
        if refuses and then.batches.completed(self.limits.cycle_rounds) is not None:
            return then, _RULE.stop(self.limits.cycle_rounds, self.limits.cycle_rounds, _tools(event))
        return then._judge(event)

    def _next(self, batch: CallBatch) -> StallGuard:
        """The batch before is complete: fold its outcome in, and begin the new one."""
        brought = self._brought()
        batches = self.batches.add((self.batch, brought)) if self.batch else self.batches
        if batch != self.batch:
            return StallGuard(self.limits, batches, batch, count=1, tree=self.tree, borne=self.borne)
        news = self.earlier is not None and self.earlier != brought
        return evolve(self, batches=batches, count=2 if news else self.count + 1, results={}, earlier=brought)

    def _judge(self, event: ReplyReceived) -> tuple[StallGuard, Verdict]:
        first = self.limits.stall_batches
        if self.count >= first + 2:
            return self, _RULE.stop(self.count, first + 1, _tools(event))
        if self.count == first + 1:
            told = "unless the results change now, your next turn has its tools withheld: finish then, or give up."
            return evolve(self, forcing=True), self._warn(f"Stalled: {told}", event)
        if self.count == first:
            return self, self._warn("Do something else, or finish.", event)
        return self, ALLOW

    def _warn(self, advice: str, event: ReplyReceived) -> Warn:
        message = f"You asked for the same calls {self.count} times in a row and the results did not change. {advice}"
        return _RULE.warn(message, self.count, self.limits.stall_batches + 1, _tools(event))


def _tools(event: ReplyReceived) -> Evidence:
    calls = event.reply.calls[:_TOLD]
    return {"tools": [call.tool for call in calls], "calls": [told_call(call) for call in calls]}
