"""Tokens, dollars, elapsed and working time of one attempt: a guard for each that is bounded, over the same arithmetic
as a task's and a run's.

The bound is hard. Before it is reached the worker is warned, and the last turn that is going to fit has its tools
withheld, so that the work can be finished in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from orchestrator.domain.events import Event, ReplyReceived, Resumed, ToolRequested, TurnRequested
from orchestrator.domain.evolve import evolve
from orchestrator.domain.forecast import Forecast
from orchestrator.domain.usage import NO_USAGE, amount_of, turn_usage
from orchestrator.domain.usage_limits import LEDGER, Figure, UsageAccount, UsageLimits
from orchestrator.domain.verdict import ALLOW, Stop, Verdict
from orchestrator.guards.guard import finishing
from orchestrator.guards.limits import GuardLimits


def usage_guards(limits: GuardLimits) -> tuple[UsageGuard, ...]:
    """One for each bound that is set; what is unbounded costs nothing."""
    bounds = (
        UsageLimits("attempt", max_tokens=limits.max_tokens),
        UsageLimits("attempt", max_usd=limits.max_cost_usd),
        UsageLimits("attempt", deadline_s=limits.deadline_s),
        UsageLimits("attempt", working_time_s=limits.working_time_s),
    )
    return tuple(UsageGuard(bound, limits.budget_warnings) for bound in bounds if bound != UsageLimits("attempt"))


@dataclass(frozen=True)
class UsageGuard:
    """One bound (`bounds` sets no other). What is paid for is judged before a request; time before a tool call too, but
    never one that finishes the work. `account` begins with the first event, `figure` is how it stood at the newest one
    and `peak` the most that it ever was. `before_turn` is what it was when the newest turn was asked for. `forced` is
    what a further turn would have brought it to when that turn's tools were withheld. `warned` counts the shares that
    were told."""

    bounds: UsageLimits
    shares: tuple[float, ...]
    account: UsageAccount | None = None
    figure: Figure | None = None
    before_turn: float | None = None
    forecast: Forecast = field(default_factory=Forecast)
    forced: Figure | None = None
    peak: Figure | None = None
    warned: int = 0

    @property
    def withholds_tools(self) -> bool:
        """Whether the next turn is the last one that is going to fit."""
        ahead = self._ahead
        return ahead is not None and ahead.exceeded

    @property
    def _timed(self) -> bool:
        """Whether the bound is one of time, which goes on with every event."""
        return self.bounds.max_tokens is None and self.bounds.max_usd is None

    @property
    def _ahead(self) -> Figure | None:
        """The figure after another turn like the newest one; None before the first."""
        if self.figure is None or self.figure.amount is None or self.before_turn is None:
            return None
        amount = self.figure.amount
        more = amount - self.before_turn if self._timed else self.forecast.two_turns
        return evolve(self.figure, amount=amount + more)

    def seconds_left(self, at: datetime) -> float | None:
        """Until the limit, where it is one of time and the attempt has begun."""
        return self.account.seconds_left(at) if self.account else None

    def in_time(self, at: datetime) -> Verdict:
        """The Stop of a bound of time that is reached when no event comes any more: the ledger's, because it is no fold
        over the attempt's events, and a replay would not find it."""
        verdict = self.account.in_time(at) if self.account else ALLOW
        return replace(verdict, guard=LEDGER) if isinstance(verdict, Stop) else ALLOW

    def observe(self, event: Event) -> tuple[UsageGuard, Verdict]:
        """Reserve at TurnRequested, settle at its ReplyReceived; take the time from `event.at`."""
        account = self.account or UsageAccount(self.bounds, event.at).begun("attempt", event.at)
        if isinstance(event, TurnRequested):
            return self._requested(event, account.written_off())
        if isinstance(event, ReplyReceived):
            return self._replied(event, account)
        if isinstance(event, Resumed):
            away_s = (event.at - event.last_event_at).total_seconds() if self.account else 0.0
            return evolve(self, account=account.paused(max(away_s, 0.0))), ALLOW
        return self._later(event, account) if self._timed else (self, ALLOW)

    def _requested(self, event: TurnRequested, account: UsageAccount) -> tuple[UsageGuard, Verdict]:
        request, timed = event.request, self._timed  # of what is paid for a bound of time need not know
        most = NO_USAGE
        if not timed:
            most = evolve(most, prompt_tokens=request.reserved_tokens, cost_usd=request.reserved_usd)
        [asked] = account.figures(most, event.at)
        if asked.exceeded:
            return evolve(self, account=account), asked.stop({"model": request.model})
        held = evolve(
            self,
            before_turn=asked.before,
            forecast=self.forecast if timed else self.forecast.requested(amount_of(most, asked.measure) or 0.0),
            forced=self._ahead if request.tools_withheld and self.withholds_tools else None,
        )
        return held._stands(account if timed else account.reserve(str(event.seq), most), asked)

    def _replied(self, event: ReplyReceived, account: UsageAccount) -> tuple[UsageGuard, Verdict]:
        waited_s, held = event.reply.wait_ms / 1000, self
        if self._timed:
            account = account.waited(waited_s)
            [figure] = account.figures(NO_USAGE, event.at)
        else:
            actual = turn_usage(event.reply)
            account = account.settle(str(event.seq), actual, waited_s)
            [figure] = account.figures(NO_USAGE, event.at)
            held = evolve(self, forecast=self.forecast.settled(amount_of(actual, figure.measure) or 0.0))
        if self.forced is not None:
            others = [call.tool for call in event.reply.calls if not finishing(call)]
            if others:
                stop = self.forced.stop({"asked for in the finishing turn": others[0]})
                return held, stop
        return held._stands(account, figure)

    def _later(self, event: Event, account: UsageAccount) -> tuple[UsageGuard, Verdict]:
        """Between a reply and the next request time alone goes on."""
        [figure] = account.figures(NO_USAGE, event.at)
        if figure.exceeded and isinstance(event, ToolRequested) and not finishing(event.call):
            return self, figure.stop()
        return self._stands(account, figure)

    def _stands(self, account: UsageAccount, figure: Figure) -> tuple[UsageGuard, Verdict]:
        """One warning an event: where a turn jumps over two shares, the second is told with the next one."""
        peak = self.peak
        if peak is None or (figure.amount or 0.0) > (peak.amount or 0.0):
            peak = figure
        held, untold = evolve(self, account=account, figure=figure, peak=peak), self.shares[self.warned :]
        if not untold or not peak.reaches(untold[0]):
            return held, ALLOW
        return evolve(held, warned=self.warned + 1), peak.warn(untold[0])
