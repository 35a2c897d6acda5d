"""What an attempt, a task and a run may still use: one arithmetic over recorded figures, without a clock.

A turn is reserved before its request and settled after its reply; one that never settled counts in full. An attempt's
account is folded by its guards (guards/usage.py); those of a task and a run sum what all attempts use
(engine/loop/metering.py), and what other processes use, the earlier ones among them, is `elsewhere`: it comes from the
graph, so that no restart refills anything. An unknown price is a state of its own: under a cost limit it refuses, at
the start already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from orchestrator.domain.evolve import evolve
from orchestrator.domain.rule import Rule
from orchestrator.domain.usage import NO_USAGE, Measure, Usage, amount_of, total_amount, total_usage
from orchestrator.domain.verdict import ALLOW, Allow, Evidence, Stop, Verdict, Warn

UsageLevel = Literal["run", "task", "attempt"]
LEDGER = "ledger"
_PAID: Mapping[Measure, Rule] = {"tokens": Rule("tokens", "token_limit"), "cost": Rule("cost", "cost_limit")}
_TIME = Rule("deadline", "deadline")
_UNITS: Mapping[Measure, str] = {"tokens": "tokens", "cost": "US dollars"}
_ROUNDING = 1e-9  # sums of US dollars miss a share by so little


@dataclass(frozen=True)
class UsageLimits:
    """What one level may spend; None is unbounded. Tokens are prompt and completion tokens together. Working time is
    that of all attempts together, without what they waited for rate limits. Times are in seconds."""

    level: UsageLevel
    max_tokens: int | None = None
    max_usd: float | None = None
    deadline_s: float | None = None
    working_time_s: float | None = None

    @property
    def shared(self) -> bool:
        """Whether something is bounded that other processes use up too, beside the time that passes anyway."""
        return any(limit is not None for limit in (self.max_tokens, self.max_usd, self.working_time_s))


@dataclass(frozen=True)
class UsageAccount:
    """One run's, task's or attempt's figures. `settled` is what this process's turns cost, `open` are those of them
    that have no reply yet, and `elsewhere` is what other processes' attempts used, unsettled turns at what they
    reserved. `started_at` is where the deadline begins; `away_s` are seconds that no process worked, which count for no
    deadline. `shifts` are this process's attempts under way, by when they began; `worked_s` is the working time of all
    others. `warned` counts the shares that were told, by measure."""

    bounds: UsageLimits
    started_at: datetime
    settled: Usage = NO_USAGE
    open: Mapping[str, Usage] = field(default_factory=dict)
    away_s: float = 0.0
    elsewhere: Usage = NO_USAGE
    elsewhere_worked_s: float = 0.0
    worked_s: float = 0.0
    shifts: Mapping[str, datetime] = field(default_factory=dict)
    warned: Mapping[Measure, int] = field(default_factory=dict)

    @property
    def spent(self) -> Usage:
        """Settled and reserved together, here and elsewhere."""
        return total_usage((self.elsewhere, self.settled, *self.open.values()))

    def judge(self, asked: Usage, at: datetime, *, later_s: float = 0.0, more: Evidence | None = None) -> Verdict:
        """Whether `asked` more may be spent at the instant `at`, or so many seconds later. `more` is told as evidence
        of a Stop."""
        return _first(figure.stop(more) for figure in self.figures(asked, at, later_s) if figure.exceeded)

    def in_time(self, at: datetime) -> Verdict:
        """Whether anything may be begun at the instant `at`, whatever it costs."""
        return _first(figure.stop() for figure in self.figures(NO_USAGE, at) if figure.timed and figure.exceeded)

    def seconds_left(self, at: datetime) -> float | None:
        """Until the nearer of the bounds of time; None without one."""
        left = [figure.limit - (figure.amount or 0.0) for figure in self.figures(NO_USAGE, at) if figure.timed]
        return min(left, default=None)

    def warn(self, asked: Usage, at: datetime, shares: Sequence[float]) -> tuple[UsageAccount, tuple[Warn, ...]]:
        """The shares of the bounds that are used up with `asked`, once each, and the account that remembers it."""
        warned, warnings = dict(self.warned), list[Warn]()
        for figure in self.figures(asked, at):
            told, crossed = warned.get(figure.measure, 0), sum(map(figure.reaches, shares))
            warnings += map(figure.warn, shares[told:crossed])
            warned[figure.measure] = max(told, crossed)
        return evolve(self, warned=warned), tuple(warnings)

    def figures(self, asked: Usage, at: datetime, later_s: float = 0.0) -> Iterator[Figure]:
        """What is bounded, as it would stand with `asked` more, so many seconds later; times first."""
        bounds = self.bounds
        if bounds.deadline_s is not None:
            passed_s = (at - self.started_at).total_seconds() - self.away_s
            yield _figure(bounds.level, "elapsed time", bounds.deadline_s, passed_s, passed_s + later_s)
        if bounds.working_time_s is not None:
            shifts_s = sum((at - begun).total_seconds() for begun in self.shifts.values())
            worked_s = self.elsewhere_worked_s + self.worked_s + shifts_s
            yield _figure(bounds.level, "working time", bounds.working_time_s, worked_s, worked_s + later_s)
        if bounds.max_tokens is not None:
            yield self._paid("tokens", bounds.max_tokens, asked)
        if bounds.max_usd is not None:
            yield self._paid("cost", bounds.max_usd, asked)

    def _paid(self, measure: Measure, limit: float, asked: Usage) -> Figure:
        spent = (self.elsewhere, self.settled, *self.open.values())
        before, more = total_amount(spent, measure), amount_of(asked, measure)
        after = None if before is None or more is None else before + more
        return _figure(self.bounds.level, measure, limit, before, after)

    def refreshed(self, elsewhere: Usage, worked_s: float = 0.0) -> UsageAccount:
        """The account with what the graph holds of other processes by now."""
        return evolve(self, elsewhere=elsewhere, elsewhere_worked_s=worked_s)

    def reserve(self, turn: str, most: Usage) -> UsageAccount:
        """The account with a turn's most in it. Reserving a turn again replaces what it held."""
        return evolve(self, open={**self.open, turn: most})

    def settle(self, turn: str, actual: Usage, waited_s: float = 0.0) -> UsageAccount:
        """The account with what the turn cost instead; what it `waited_s` is no working time."""
        rest = {key: spend for key, spend in self.open.items() if key != turn}
        return evolve(self, settled=total_usage((self.settled, actual)), open=rest).waited(waited_s)

    def waited(self, seconds: float) -> UsageAccount:
        """The account after so long a wait for rate limits."""
        return evolve(self, worked_s=self.worked_s - seconds) if seconds else self

    def begun(self, shift: str, at: datetime) -> UsageAccount:
        """An attempt of this process begins."""
        return evolve(self, shifts={**self.shifts, shift: at})

    def ended(self, shift: str, at: datetime) -> UsageAccount:
        """It is over."""
        rest = {key: begun for key, begun in self.shifts.items() if key != shift}
        worked_s = self.worked_s + (at - self.shifts[shift]).total_seconds()
        return evolve(self, shifts=rest, worked_s=worked_s)

    def paused(self, away_s: float) -> UsageAccount:
        """Nobody worked for so long: that counts for no deadline and is no working time."""
        return evolve(self, away_s=self.away_s + away_s, worked_s=self.worked_s - away_s)

    def written_off(self) -> UsageAccount:
        """What is reserved counts in full for good: the turns that are open get no reply any more."""
        return evolve(self, settled=total_usage((self.settled, *self.open.values())), open={}) if self.open else self


@dataclass(frozen=True)
class Figure:
    """One bounded figure of a level, in the measure's unit: `before` something is spent, and the `amount` with it. None
    is the unknown price's."""

    level: UsageLevel
    measure: Measure
    limit: float
    before: float | None
    amount: float | None

    @property
    def timed(self) -> bool:
        """Whether it is a time, in seconds."""
        return self.measure not in _PAID

    @property
    def exceeded(self) -> bool:
        """What is paid for may be used up to the limit; nothing begins at the instant at which time is up."""
        return self.amount is None or (self.amount >= self.limit if self.timed else self.amount > self.limit)

    def reaches(self, share: float) -> bool:
        """Whether that share of the limit is used up."""
        return self.amount is not None and self.amount + _ROUNDING >= share * self.limit

    def stop(self, more: Evidence | None = None) -> Stop:
        """The Stop of an exceeded figure, with `more` evidence. An unknown price is told with what was known before."""
        observed = self.amount
        seen: Evidence = {"measured": self.measure} if self.timed else {"spent": self.before}
        if observed is None:
            observed, seen = self.before or 0.0, {"unknown price": "a turn's model has no price"}
        return self._rule.stop(observed, self.limit, {"level": self.level, **seen, **(more or {})})

    def warn(self, share: float) -> Warn:
        """The warning that a share of the limit is reached."""
        used, unit = self.amount or 0.0, _UNITS.get(self.measure, f"seconds of {self.measure}")
        left = max(self.limit - used, 0.0)
        message = (
            f"{share:.0%} of what the {self.level} may use are reached: {used:.6g} of {self.limit:g} {unit} are spent "
            f"or reserved, {left:.6g} remain. Finish soon."
        )
        evidence: Evidence = {"level": self.level, "measured": self.measure, "share": share, "remaining": left}
        return self._rule.warn(message, used, self.limit, evidence)

    @property
    def _rule(self) -> Rule:
        """An attempt's bounds have guards of their own; the others are the ledger's."""
        rule = _PAID.get(self.measure, _TIME)
        return rule if self.level == "attempt" else Rule(LEDGER, rule.code)


_NO_FIGURE = Figure("attempt", "tokens", 0.0, None, None)


def _figure(level: UsageLevel, measure: Measure, limit: float, before: float | None, amount: float | None) -> Figure:
    """A Figure, in a third of the time that its own making takes: there is one for each bound and event."""
    return evolve(_NO_FIGURE, level=level, measure=measure, limit=limit, before=before, amount=amount)


@dataclass(frozen=True)
class UsageLedger:
    """Accounts by id. An operation names a chain of them, outermost first: (run, task, attempt)."""

    accounts: Mapping[str, UsageAccount] = field(default_factory=dict)

    def opened(self, key: str, account: UsageAccount) -> UsageLedger:
        """The ledger with one more account, or another one in its place."""
        return UsageLedger({**self.accounts, key: account})

    def refreshed(self, key: str, elsewhere: Usage, worked_s: float = 0.0) -> UsageLedger:
        """The ledger with an account brought up to what the graph holds of other processes."""
        return self._with({key: self.accounts[key].refreshed(elsewhere, worked_s)})

    def judge(self, chain: Sequence[str], asked: Usage, at: datetime) -> Verdict:
        """Allow, or the Stop of the outermost account that cannot bear `asked`. Ask at the start too: with NO_USAGE, or
        with `Usage(cost_usd=None)` where the model has no price."""
        return _first(self.accounts[key].judge(asked, at) for key in chain)

    def in_time(self, chain: Sequence[str], at: datetime) -> Verdict:
        """Allow, or the Stop of the outermost account whose time is up."""
        return _first(self.accounts[key].in_time(at) for key in chain)

    def seconds_left(self, chain: Sequence[str], at: datetime) -> float | None:
        """Until the nearest bound of time; None without one."""
        return nearest_s(*(self.accounts[key].seconds_left(at) for key in chain))

    def warn(
        self, chain: Sequence[str], asked: Usage, at: datetime, shares: Sequence[float]
    ) -> tuple[UsageLedger, tuple[Warn, ...]]:
        """What the accounts warn of, with `asked` in them, and the ledger that does not say it again."""
        warned = {key: self.accounts[key].warn(asked, at, shares) for key in chain}
        ledger = self._with({key: account for key, (account, _) in warned.items()})
        return ledger, tuple(warning for _, warnings in warned.values() for warning in warnings)

    def reserve(self, chain: Sequence[str], turn: str, most: Usage) -> UsageLedger:
        """Every account of the chain with a turn's most reserved. Judge first."""
        return self._with({key: self.accounts[key].reserve(turn, most) for key in chain})

    def settle(self, chain: Sequence[str], turn: str, actual: Usage, waited_s: float = 0.0) -> UsageLedger:
        """Every account of the chain with what the turn cost."""
        return self._with({key: self.accounts[key].settle(turn, actual, waited_s) for key in chain})

    def begun(self, chain: Sequence[str], shift: str, at: datetime) -> UsageLedger:
        """Every account of the chain with an attempt that begins."""
        return self._with({key: self.accounts[key].begun(shift, at) for key in chain})

    def ended(self, chain: Sequence[str], shift: str, at: datetime) -> UsageLedger:
        """Every account of the chain without it."""
        return self._with({key: self.accounts[key].ended(shift, at) for key in chain})

    def _with(self, changed: Mapping[str, UsageAccount]) -> UsageLedger:
        return UsageLedger({**self.accounts, **changed})


def _first(verdicts: Iterable[Verdict]) -> Verdict:
    return next((verdict for verdict in verdicts if not isinstance(verdict, Allow)), ALLOW)


def nearest_s(*left: float | None) -> float | None:
    """Of several bounds of time the seconds that are left until the nearest; None where none bounds."""
    return min((seconds for seconds in left if seconds is not None), default=None)


def idle_s(spans: Iterable[tuple[datetime, datetime]], begun: datetime, now: datetime) -> float:
    """Seconds from `begun` to `now` in which none of the spans of work was going on: time that no process worked."""
    idle, reached = 0.0, begun
    for start, end in sorted(spans):
        idle += max((start - reached).total_seconds(), 0.0)
        reached = max(reached, end)
    return idle + max((now - reached).total_seconds(), 0.0)
