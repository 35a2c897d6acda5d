"""What a run and its tasks may still spend: reserve before a request, settle after its reply, across all threads.

The arithmetic is domain/ledger.py's. The figures of earlier processes come from the graph, unsettled turns at what they
reserved, so that no restart refills anything. What one attempt may spend is its Panel's to bound.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from itertools import count

from orchestrator.domain.errors import RunBoundError
from orchestrator.domain.events import ReplyReceived, TurnRequested
from orchestrator.domain.ledger import Account, Bounds, Ledger, idle_s
from orchestrator.domain.ports import Clock, GraphReader
from orchestrator.domain.records import Run, Spend
from orchestrator.domain.verdict import Stop
from orchestrator.settings import RunSettings


@dataclass
class _Book:
    """The ledger that all purses of a process share."""

    ledger: Ledger = field(default_factory=Ledger)
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: count[int] = field(default_factory=count)


class Purse:
    """A chain of accounts, outermost first, from which turns are paid. Thread-safe; one conversation at a time uses a
    purse, since it remembers the turn that is open."""

    def __init__(self, book: _Book, chain: tuple[str, ...]) -> None:
        self._book = book
        self._chain = chain
        self._open: str | None = None

    def reserve(self, turn: TurnRequested) -> Stop | None:
        """Set aside what the turn may cost at most, or the Stop of the account that cannot bear it."""
        most = Spend(turn.reserved_tokens, 0, turn.reserved_usd)
        with self._book.lock:
            verdict = self._book.ledger.judge(self._chain, most, turn.at)
            if isinstance(verdict, Stop):
                return verdict
            self._open = str(next(self._book.numbers))
            self._book.ledger = self._book.ledger.reserve(self._chain, self._open, most)
        return None

    def settle(self, reply: ReplyReceived) -> None:
        """Replace what was set aside by what the reply cost."""
        actual = Spend(reply.prompt_tokens, reply.completion_tokens, reply.cost_usd)
        with self._book.lock:
            if self._open is not None:
                self._book.ledger = self._book.ledger.settle(self._chain, self._open, actual)
            self._open = None


class RunPurse:
    """A run's account, and one for each task that this process works on."""

    def __init__(self, settings: RunSettings, reader: GraphReader, run: Run, clock: Clock) -> None:
        self._settings = settings
        self._reader = reader
        self._run = run
        self._clock = clock
        bounds = Bounds("run", settings.max_tokens, settings.max_cost_usd, settings.deadline_s)
        away_s = idle_s(reader.spans(run.id), run.started_at, clock.now())
        account = Account(bounds, run.started_at, reader.spend(run_id=run.id), away_s=away_s)
        self._book = _Book(Ledger().opened(run.id, account))

    def of_task(self, task_id: str) -> Purse:
        """A purse for one attempt at a task: its account begins with what earlier attempts cost, and the run's is
        brought up to what other processes have spent meanwhile."""
        bounds = Bounds("task", self._settings.task_max_tokens, self._settings.task_max_cost_usd)
        spent = self._reader.spend(run_id=self._run.id, task_id=task_id)
        recorded = self._reader.spend(run_id=self._run.id)
        with self._book.lock:
            account = Account(bounds, self._clock.now(), spent)
            self._book.ledger = self._book.ledger.refreshed(self._run.id, recorded).opened(task_id, account)
        return Purse(self._book, (self._run.id, task_id))


def unbounded() -> Purse:
    """A purse that bears everything: planning has its own Panel and no run."""
    return Purse(_Book(), ())


def halts(stop: Stop | None) -> RunBoundError | None:
    """The error that ends the run when the bound that stopped an attempt is the run's own."""
    if stop is None or stop.evidence.get("level") != "run":
        return None
    return RunBoundError(
        f"The run's own bound is reached. {stop.message}",
        next_step="Raise it (--max-cost, --max-tokens, --deadline) and continue with `orchestrate execute --resume`.",
    )
