"""What a run and its tasks may still spend: reserve before a request, settle after its reply, across all threads and
processes.

The arithmetic is domain/usage_limits.py's. What this process spends it knows itself; what other processes spend, the
earlier ones among them, it looks up in the transaction that records a turn with its reservation, behind the run's lock:
so no restart refills anything, and two processes never both take the last room. What one attempt may spend is its
guards' to bound.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count

from orchestrator.config.settings import RunSettings
from orchestrator.domain.errors import RunBoundError
from orchestrator.domain.events import ReplyReceived, TurnRequested
from orchestrator.domain.forecast import Forecast
from orchestrator.domain.run import Claim, Run
from orchestrator.domain.usage import NO_USAGE, AttemptUsage, Usage, total_usage
from orchestrator.domain.usage_limits import (
    UsageAccount,
    UsageLedger,
    UsageLimits,
    idle_s,
)
from orchestrator.domain.verdict import Stop, Verdict
from orchestrator.engine.loop.journal import Journal
from orchestrator.engine.services import Services

Fits = Callable[[Sequence[AttemptUsage]], bool]
RecordIfFits = Callable[[Journal, frozenset[str], Fits], None]
"""Makes a journal durable if what other processes have used bears it; those named are known and left out."""


@dataclass
class SharedLedger:
    """The ledger that all meters of a process share. `closed` are other processes' attempts that have ended,
    `under_way` is what each of ours reserved for its newest turn; `exhausted` is the Stop of the run's own bound.
    `record` is None where nothing is bounded that other processes use up."""

    ledger: UsageLedger = field(default_factory=UsageLedger)
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: count[int] = field(default_factory=count)
    shares: tuple[float, ...] = ()
    record: RecordIfFits | None = None
    closed: dict[str, AttemptUsage] = field(default_factory=dict)
    under_way: dict[str, Usage] = field(default_factory=dict)
    exhausted: Stop | None = None

    def refresh(self, chain: Sequence[str], seen: Sequence[AttemptUsage]) -> None:
        """Bring the accounts of a run and a task up to what other processes' attempts have used."""
        uses = (*self.closed.values(), *seen)
        for key, held in zip(chain, (uses, [use for use in uses if use.task_id == chain[-1]]), strict=True):
            worked_s = sum(use.worked_s for use in held)
            self.ledger = self.ledger.refreshed(key, total_usage(use.usage for use in held), worked_s)

    def keep(self, seen: Sequence[AttemptUsage]) -> None:
        """Remember what cannot change any more."""
        self.closed |= {use.attempt_id: use for use in seen if use.closed}


class Meter:
    """A chain of accounts, outermost first, from which one conversation of an attempt pays its turns. It remembers the
    turn that is open, and the pace of those before it. The accounts are thread-safe."""

    def __init__(self, shared: SharedLedger, chain: tuple[str, ...], attempt: str) -> None:
        self._shared = shared
        self._chain = chain
        self._attempt = attempt
        self._open: str | None = None
        self._turn_at: datetime | None = None
        self._tokens = Forecast()
        self._usd = Forecast()

    def opened(self) -> Meter:
        """A meter on the same accounts for another conversation."""
        return Meter(self._shared, self._chain, self._attempt)

    # -- before a turn --------------------------------------------------------------------------------------------

    def last_turn(self, at: datetime) -> Stop | None:
        """The Stop that a turn at the instant `at` ends with unless it finishes, because no other one is going to fit
        behind it; None where one is. Of a conversation's first turn nothing is known yet."""
        if self._turn_at is None:
            return None
        mine = Usage(prompt_tokens=math.ceil(self._tokens.two_turns), cost_usd=self._usd.two_turns)
        lasted_s = (at - self._turn_at).total_seconds()
        with self._shared.lock:
            if self._shared.exhausted is not None:
                return self._shared.exhausted
            others = (spend for attempt, spend in self._shared.under_way.items() if attempt != self._attempt)
            run = total_usage((mine, *others))  # every attempt under way has a finishing turn left for it
            asked = (run, *(mine for _ in self._chain[1:]))
            return self._judged_ahead(asked, at, lasted_s)

    def _judged_ahead(self, asked: Sequence[Usage], at: datetime, lasted_s: float) -> Stop | None:
        for key, spend in zip(self._chain, asked, strict=True):
            account, more = self._shared.ledger.accounts[key], {"finishing turn": "used for something else"}
            verdict = account.judge(spend, at, later_s=lasted_s, more=more)
            if isinstance(verdict, Stop):
                return verdict
        return None

    def reserve(self, turn: TurnRequested, journal: Journal) -> tuple[Verdict, ...]:
        """Set aside what the turn may cost at most and make the journal durable with it, in one step where other
        processes pay from the same accounts. A Stop of the account that cannot bear it, with nothing set aside, or what
        the accounts warn of."""
        most = Usage(prompt_tokens=turn.request.reserved_tokens, cost_usd=turn.request.reserved_usd)
        with self._shared.lock:
            verdict = self._borne(most, turn.at, journal)
            if isinstance(verdict, Stop):
                return self._stopped(verdict)
            warnings = self._warned(most, turn.at)
            self._open = str(next(self._shared.numbers))
            self._shared.ledger = self._shared.ledger.reserve(self._chain, self._open, most)
            self._shared.under_way[self._attempt] = most
        self._turn_at = turn.at
        self._tokens = self._tokens.requested(turn.request.reserved_tokens)
        self._usd = self._usd.requested(turn.request.reserved_usd or 0.0)
        return warnings

    def _borne(self, most: Usage, at: datetime, journal: Journal) -> Verdict:
        """The verdict of the accounts; the journal is durable behind it, unless it is a Stop or nothing is shared."""
        shared = self._shared
        if shared.record is None:
            return shared.ledger.judge(self._chain, most, at)
        looked: list[Sequence[AttemptUsage]] = [()]

        def fits(seen: Sequence[AttemptUsage]) -> bool:
            looked[0] = seen
            shared.refresh(self._chain, seen)
            return not isinstance(shared.ledger.judge(self._chain, most, at), Stop)

        shared.record(journal, frozenset(shared.closed), fits)
        shared.keep(looked[0])
        return shared.ledger.judge(self._chain, most, at)

    # -- within it ------------------------------------------------------------------------------------------------

    def in_time(self, at: datetime) -> tuple[Verdict, ...]:
        """The Stop of the account whose time is up, or what they warn of: asked before every tool call."""
        with self._shared.lock:
            verdict = self._shared.ledger.in_time(self._chain, at)
            return self._stopped(verdict) if isinstance(verdict, Stop) else self._warned(NO_USAGE, at)

    def seconds_left(self, at: datetime) -> float | None:
        """Until the nearest bound of time; None without one."""
        with self._shared.lock:
            return self._shared.ledger.seconds_left(self._chain, at)

    def settle(self, event: ReplyReceived) -> None:
        """Replace what was set aside by what the reply cost."""
        actual = NO_USAGE.after(event)
        with self._shared.lock:
            if self._open is not None:
                waited_s = event.reply.wait_ms / 1000
                self._shared.ledger = self._shared.ledger.settle(self._chain, self._open, actual, waited_s)
            self._open = None
        self._tokens = self._tokens.settled(actual.tokens)
        self._usd = self._usd.settled(actual.cost_usd or 0.0)

    def _warned(self, asked: Usage, at: datetime) -> tuple[Verdict, ...]:
        self._shared.ledger, warnings = self._shared.ledger.warn(self._chain, asked, at, self._shared.shares)
        return warnings

    def _stopped(self, stop: Stop) -> tuple[Verdict, ...]:
        if stop.evidence.get("level") == "run":
            self._shared.exhausted = self._shared.exhausted or stop
        return (stop,)


class RunMeter:
    """A run's account, and one for each task that this process works on. Nothing is kept where nothing is bounded."""

    def __init__(self, services: Services, run: Run) -> None:
        self._services = services
        self._run = run
        settings = services.settings.run
        self._of_run, self._of_task = _run_bounds(settings), _task_bounds(settings)
        account = UsageAccount(self._of_run, run.started_at, away_s=self._away_s(self._of_run, run.started_at))
        self._shared = SharedLedger(
            UsageLedger().opened(run.id, account), shares=tuple(sorted(services.settings.guards.budget_warnings))
        )

    @contextmanager
    def of_attempt(self, claim: Claim) -> Iterator[Meter | None]:
        """A meter for as long as an attempt is under way; None where nothing is bounded."""
        if self._of_run == UsageLimits("run") and self._of_task == UsageLimits("task"):
            yield None
            return
        chain, shared = (self._run.id, claim.task.id), self._shared
        task = self._task_account(claim)
        with shared.lock:
            shared.record = self._record(claim.owner)
            shared.ledger = shared.ledger.opened(claim.task.id, task).begun(chain, claim.attempt_id, claim.at)
        try:
            yield Meter(shared, chain, claim.attempt_id)
        finally:
            with shared.lock:
                shared.ledger = shared.ledger.ended(chain, claim.attempt_id, self._services.clock.now())
                shared.under_way.pop(claim.attempt_id, None)

    def _task_account(self, claim: Claim) -> UsageAccount:
        """The task's account goes on where this process's last attempt at it left it, but for its deadline."""
        held = self._shared.ledger.accounts.get(claim.task.id, UsageAccount(self._of_task, claim.at))
        if self._of_task.deadline_s is None:
            return held
        began = min((begun for begun, _ in self._spans(claim.task.id)), default=claim.at)
        return replace(held, started_at=began, away_s=self._away_s(self._of_task, began, claim.task.id))

    def _away_s(self, bounds: UsageLimits, since: datetime, task_id: str | None = None) -> float:
        if bounds.deadline_s is None:
            return 0.0
        return idle_s(self._spans(task_id), since, self._services.clock.now())

    def _spans(self, task_id: str | None) -> tuple[tuple[datetime, datetime], ...]:
        return self._services.reader.spans(self._run.id, task_id)

    def _record(self, worker: str) -> RecordIfFits | None:
        if not (self._of_run.shared or self._of_task.shared):
            return None
        reserve, run_id = self._services.writer.reserve, self._run.id

        def record(journal: Journal, known: frozenset[str], fits: Fits) -> None:
            journal.flush_if(
                lambda owner, events: reserve(owner, events, run_id=run_id, worker=worker, known=known, fits=fits)
            )

        return record


def _run_bounds(run: RunSettings) -> UsageLimits:
    return UsageLimits("run", run.max_tokens, run.max_cost_usd, run.deadline_s, run.working_time_s)


def _task_bounds(run: RunSettings) -> UsageLimits:
    return UsageLimits("task", run.task_max_tokens, run.task_max_cost_usd, run.task_deadline_s, run.task_working_time_s)


def halts(stop: Stop | None) -> RunBoundError | None:
    """The error that ends the run when the bound that stopped an attempt is the run's own."""
    if stop is None or stop.evidence.get("level") != "run":
        return None
    return RunBoundError(
        f"The run's own bound is reached. {stop.message}",
        next_step="Raise it (--max-cost, --max-tokens, --deadline, or run.working_time_s in the settings) and continue "
        "with `orchestrate execute --resume`.",
    )


def stops_task(stop: Stop | None) -> bool:
    """Whether it is the task's own bound that was reached, by whichever of its conversations."""
    return stop is not None and stop.evidence.get("level") == "task"
