"""Budget: executed tool calls, and requested ones."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.events import BudgetDecided, Event, ToolFinished, ToolRequested, TurnRequested
from orchestrator.domain.evolve import evolve
from orchestrator.domain.rule import Rule
from orchestrator.domain.tools import executed, executes
from orchestrator.domain.verdict import ALLOW, Refuse, Verdict
from orchestrator.guards.guard import crossed, finishing
from orchestrator.guards.limits import GuardLimits

_RULE = Rule("budget", "budget_exhausted")
_REQUESTS = Rule("budget", "request_limit")


@dataclass(frozen=True)
class BudgetGuard:
    """`budget` executed calls, grants included. `running` are calls that were let through and have no result yet: they
    count, so that calls running at once cannot exceed the budget together. `closed_in` is the newest turn if its tools
    were withheld because the budget was used up: every call in it but one that finishes is one beyond the budget, a
    duplicate, a control tool or a defective one too. `overdrawn_in` is the turn in which a call beyond the budget was
    first refused; the turn after it is the finishing turn, and another call then stops. In the turn in which the last
    call was executed control tools are still heard, request_budget among them."""

    limits: GuardLimits
    budget: int
    executed: int = 0
    running: tuple[int, ...] = ()
    requested: int = 0
    warned: int = 0
    closed_in: int | None = None
    overdrawn_in: int | None = None

    @property
    def used(self) -> int:
        """Executed calls, with those that are running."""
        return self.executed + len(self.running)

    @property
    def most_requests(self) -> int:
        """Calls that may be asked for, duplicates and control tools counted."""
        return self.limits.request_factor * self.budget

    @property
    def withholds_tools(self) -> bool:
        """From 100 % of either bound on only the finishing tools are offered."""
        return self.used >= self.budget or self.requested >= self.most_requests

    def observe(self, event: Event) -> tuple[BudgetGuard, Verdict]:
        """Judge a call before it runs; count it after; take grants in."""
        if isinstance(event, TurnRequested):
            closed = event.seq if event.request.tools_withheld and self.used >= self.budget else None
            return (self if closed == self.closed_in else evolve(self, closed_in=closed)), ALLOW
        if isinstance(event, ToolRequested):
            return self._requested(event)
        if isinstance(event, ToolFinished):
            return self._finished(event)
        if isinstance(event, BudgetDecided) and event.granted and event.granted_calls > 0:
            return self._granted(event.granted_calls), ALLOW
        return self, ALLOW

    def _requested(self, event: ToolRequested) -> tuple[BudgetGuard, Verdict]:
        # One request beyond the bound is left for the call that finishes.
        if self.requested >= self.most_requests + finishing(event.call):
            return self, _REQUESTS.stop(self.requested + 1, self.most_requests, {"tool": event.call.tool})
        asked = evolve(self, requested=self.requested + 1)
        if finishing(event.call):
            return asked, ALLOW
        if self.overdrawn_in is not None and self.overdrawn_in != event.turn_seq:
            return asked, _RULE.stop(self.used, self.budget, {"tool": event.call.tool})
        if self._beyond(event):
            # Calls refused here are not counted as requests: the finishing turn comes first, whatever the batch's size.
            return evolve(self, overdrawn_in=event.turn_seq), self._refuse()
        return (evolve(asked, running=(*self.running, event.seq)) if _executes(event) else asked), ALLOW

    def _beyond(self, event: ToolRequested) -> bool:
        return self.closed_in == event.turn_seq or (self.used >= self.budget and _executes(event))

    def _refuse(self) -> Refuse:
        message = (
            f"Refused: {self.used} of {self.budget} tool calls are used. You have one turn left to finish: "
            "call finish_task if the work is done, else give_up and say what is missing."
        )
        return _RULE.refuse(message, self.used + 1, self.budget, {"budget": self.budget})

    def _finished(self, event: ToolFinished) -> tuple[BudgetGuard, Verdict]:
        running = self.running
        if event.seq in running:
            at = running.index(event.seq)
            running = running[:at] + running[at + 1 :]
        if not executed(event.call, event.status):
            return (self if running is self.running else evolve(self, running=running)), ALLOW
        return evolve(self, running=running, executed=self.executed + 1)._warn()

    def _warn(self) -> tuple[BudgetGuard, Verdict]:
        reached = self._crossed()
        if reached <= self.warned:
            return self, ALLOW
        left = max(self.budget - self.used, 0)
        message = f"{self.used} of {self.budget} tool calls are used, {left} remain. Finish what matters most first."
        evidence = {"used": self.used, "limit": self.budget, "remaining": left}
        return evolve(self, warned=reached), _RULE.warn(message, self.used, self.budget, evidence)

    def _crossed(self) -> int:
        return crossed(self.used, self.budget, self.limits.budget_warnings)

    def _granted(self, calls: int) -> BudgetGuard:
        """A larger budget has its own warnings."""
        larger = evolve(self, budget=self.budget + calls, closed_in=None, overdrawn_in=None)
        return evolve(larger, warned=larger._crossed())


def _executes(event: ToolRequested) -> bool:
    """Whether the call, let through, uses budget."""
    return executes(event.call, event.duplicate_of)
