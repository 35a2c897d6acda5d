"""The ledger: what a run, its tasks and their attempts may still spend. Pure arithmetic over recorded figures.

Budgets of a run or a task are no fold over one attempt: they sum what all attempts' turns cost. A turn is reserved
before its request and committed after its reply; one that never settled counts in full. So the figures of earlier
processes (`opened` with the graph's Spend) refill nothing at a restart. An unknown price is a state of its own: under a
cost limit it refuses, at the start already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from orchestrator.domain import stops
from orchestrator.domain.records import Spend
from orchestrator.domain.verdict import ALLOW, Evidence, Stop, Verdict

Level = Literal["run", "task", "attempt"]
NAME = "ledger"
NOTHING = Spend()


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one level may spend; None is unbounded. Tokens are prompt and completion tokens together."""

    level: Level
    max_tokens: int | None = None
    max_usd: float | None = None
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """One run's, task's or attempt's figures. `settled` holds those of earlier processes too, unsettled turns of
    theirs at what they reserved; `open` are this process's turns that have no reply yet. `started_at` is where the
    deadline begins; `away_s` are seconds that no process worked, which count for no deadline."""

    bounds: Bounds
    started_at: datetime
    settled: Spend = NOTHING
    open: Mapping[str, Spend] = field(default_factory=dict)
    away_s: float = 0.0

    @property
    def spent(self) -> Spend:
        """Settled and reserved together."""
        return total((self.settled, *self.open.values()))

    def judge(self, asked: Spend, at: datetime) -> Verdict:
        """Whether `asked` more may be spent at the instant `at`."""
        after = total((self.spent, asked))
        return self._deadline(at) or self._tokens(after) or self._cost(after) or ALLOW

    def refreshed(self, recorded: Spend) -> Account:
        """The account with what the graph holds by now, other processes' turns among it. `recorded` counts this
        process's open turns too, so they are taken out; what this process knows to be spent is never forgotten."""
        mine = total(self.open.values())
        return replace(self, settled=_greater(self.settled, _less(recorded, mine)))

    def reserve(self, turn: str, most: Spend) -> Account:
        """The account with a turn's most in it. Reserving a turn again replaces what it held."""
        return replace(self, open={**self.open, turn: most})

    def settle(self, turn: str, actual: Spend) -> Account:
        """The account with what the turn cost instead."""
        rest = {key: spend for key, spend in self.open.items() if key != turn}
        return replace(self, settled=total((self.settled, actual)), open=rest)

    def _deadline(self, at: datetime) -> Stop | None:
        limit, passed = self.bounds.deadline_s, (at - self.started_at).total_seconds() - self.away_s
        return self._stop("deadline", passed, limit) if limit is not None and passed >= limit else None

    def _tokens(self, after: Spend) -> Stop | None:
        limit, tokens = self.bounds.max_tokens, after.prompt_tokens + after.completion_tokens
        return self._stop("token_limit", tokens, limit) if limit is not None and tokens > limit else None

    def _cost(self, after: Spend) -> Stop | None:
        limit = self.bounds.max_usd
        if limit is None or (after.usd is not None and after.usd <= limit):
            return None
        if after.usd is None:
            return self._stop("cost_limit", 0.0, limit, {"cost": "unknown, because a turn's model has no price"})
        return self._stop("cost_limit", after.usd, limit)

    def _stop(self, code: str, observed: float, limit: float, more: Evidence | None = None) -> Stop:
        evidence = {"level": self.bounds.level, **(more or {})}
        return Stop(NAME, code, stops.explain(code, observed, limit, evidence), observed, limit, evidence)


@dataclass(frozen=True, slots=True)
class Ledger:
    """Accounts by id. An operation names a chain of them, outermost first: (run, task, attempt)."""

    accounts: Mapping[str, Account] = field(default_factory=dict)

    def opened(self, key: str, account: Account) -> Ledger:
        """The ledger with one more account."""
        return Ledger({**self.accounts, key: account})

    def refreshed(self, key: str, recorded: Spend) -> Ledger:
        """The ledger with an account brought up to what the graph holds."""
        return self._with({key: self.accounts[key].refreshed(recorded)})

    def closed(self, key: str) -> Ledger:
        """The ledger without an account; those around it keep what it spent."""
        return Ledger({k: account for k, account in self.accounts.items() if k != key})

    def judge(self, chain: Sequence[str], asked: Spend, at: datetime) -> Verdict:
        """Allow, or the Stop of the outermost account that cannot bear `asked`. Ask at the start too: with
        NOTHING, or with `Spend(usd=None)` where the model has no price."""
        verdicts = (self.accounts[key].judge(asked, at) for key in chain)
        return next((verdict for verdict in verdicts if isinstance(verdict, Stop)), ALLOW)

    def reserve(self, chain: Sequence[str], turn: str, most: Spend) -> Ledger:
        """Every account of the chain with a turn's most reserved. Judge first."""
        return self._with({key: self.accounts[key].reserve(turn, most) for key in chain})

    def settle(self, chain: Sequence[str], turn: str, actual: Spend) -> Ledger:
        """Every account of the chain with what the turn cost."""
        return self._with({key: self.accounts[key].settle(turn, actual) for key in chain})

    def _with(self, changed: Mapping[str, Account]) -> Ledger:
        return Ledger({**self.accounts, **changed})


def idle_s(spans: Iterable[tuple[datetime, datetime]], begun: datetime, now: datetime) -> float:
    """Seconds from `begun` to `now` in which none of the spans of work was going on: time that no process worked."""
    idle, reached = 0.0, begun
    for start, end in sorted(spans):
        idle += max((start - reached).total_seconds(), 0.0)
        reached = max(reached, end)
    return idle + max((now - reached).total_seconds(), 0.0)


def _less(spend: Spend, other: Spend) -> Spend:
    usd = None if spend.usd is None or other.usd is None else spend.usd - other.usd
    return Spend(spend.prompt_tokens - other.prompt_tokens, spend.completion_tokens - other.completion_tokens, usd)


def _greater(one: Spend, other: Spend) -> Spend:
    """The greater of each figure; an unknown price stays unknown."""
    usd = None if one.usd is None or other.usd is None else max(one.usd, other.usd)
    return Spend(max(one.prompt_tokens, other.prompt_tokens), max(one.completion_tokens, other.completion_tokens), usd)


def total(spends: Iterable[Spend]) -> Spend:
    """The sum. One unknown price makes the sum's unknown (0 dollars are known)."""
    held = tuple(spends)
    known = [spend.usd for spend in held if spend.usd is not None]
    return Spend(
        prompt_tokens=sum(spend.prompt_tokens for spend in held),
        completion_tokens=sum(spend.completion_tokens for spend in held),
        usd=sum(known) if len(known) == len(held) else None,
    )
