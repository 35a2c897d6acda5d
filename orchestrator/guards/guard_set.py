"""The GuardSet: many guards as one. The strictest verdict wins, Stop is absorbing, a guard that raises stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Literal

from orchestrator.domain.events import (
    Event,
    Finished,
    GuardCounters,
    GuardFired,
    ReplyReceived,
    Resumed,
    ToolFinished,
    ToolRequested,
)
from orchestrator.domain.evolve import evolve
from orchestrator.domain.model_io import ToolCall
from orchestrator.domain.rule import Rule
from orchestrator.domain.usage_limits import nearest_s
from orchestrator.domain.verdict import ALLOW, Allow, Stop, Verdict
from orchestrator.guards.budget import BudgetGuard
from orchestrator.guards.checkpoint import CheckpointGuard
from orchestrator.guards.declined import DeclinedGuard
from orchestrator.guards.duplicates import Duplicates
from orchestrator.guards.figures import FiguresGuard
from orchestrator.guards.guard import Guard
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.malformed import MalformedGuard
from orchestrator.guards.no_action import NoActionGuard
from orchestrator.guards.no_news import NoNewsGuard
from orchestrator.guards.repetition import RepetitionGuard
from orchestrator.guards.same_error import SameErrorGuard
from orchestrator.guards.same_failure import SameFailureGuard
from orchestrator.guards.scope import ScopeGuard
from orchestrator.guards.stall import StallGuard
from orchestrator.guards.thrash import ThrashGuard
from orchestrator.guards.turns import TurnGuard
from orchestrator.guards.usage import UsageGuard, usage_guards
from orchestrator.guards.window import WindowGuard

Role = Literal["worker", "verifier", "planner"]


@dataclass(frozen=True)
class GuardSet:
    """A frozen value: the same events folded from the same beginning give the same GuardSet, live or rebuilt from the
    graph. `repeats` are the calls of the newest reply that are identical to an earlier one of it: answered by that one,
    whether it was executed, refused, malformed or a control tool, they count for no guard. One that is executed after
    all, because something was written or granted in between, counts."""

    limits: GuardLimits
    guards: tuple[Guard, ...]
    duplicates: Duplicates
    repeats: frozenset[int] = frozenset()
    stopped: Stop | None = None

    @classmethod
    def begin(
        cls, limits: GuardLimits, budget: int, allowed_paths: tuple[str, ...], *, role: Role = "worker"
    ) -> GuardSet:
        """The GuardSet of an attempt (`worker`), or of a review or planning round, which write nothing and report to
        nobody: they have neither scope nor checkpoints, and `max_turns` is no bound of theirs. `budget` is in executed
        tool calls."""
        guards: tuple[Guard, ...] = (
            BudgetGuard(limits, budget),
            TurnGuard(limits.budget_warnings, budget, limits.max_turns if role == "worker" else None),
            *usage_guards(limits),
            DeclinedGuard(),
            *_of_one_worker(limits),
        )
        if role == "worker":
            guards = (*guards, CheckpointGuard(limits, budget), ScopeGuard(allowed_paths))
        return cls(limits, guards, Duplicates(limits))

    # -- what the engine asks ------------------------------------------------------------------------------------

    @property
    def budget(self) -> int:
        """Executed calls that are allowed, grants included."""
        return self._budget.budget

    @property
    def calls_executed(self) -> int:
        """Executed calls so far, control tools and served duplicates left out."""
        return self._budget.used

    @property
    def counters(self) -> GuardCounters:
        """How things stand, as every turn's record has it."""
        return GuardCounters(
            calls_used=self._budget.used,
            calls_limit=self._budget.budget,
            requests_used=self._budget.requested,
            requests_limit=self._budget.most_requests,
            stall_count=self._stall.count,
            turns_used=self._turns.used,
            turns_limit=self._turns.limit,
        )

    @property
    def withholds_tools(self) -> bool:
        """Whether the next turn may offer finishing tools alone."""
        bounds = (g.withholds_tools for g in self.guards if isinstance(g, BudgetGuard | TurnGuard | UsageGuard))
        return any(bounds) or self._stall.forces

    def seconds_left(self, at: datetime) -> float | None:
        """Until the nearer deadline, at the instant `at`; None without one."""
        return nearest_s(*(g.seconds_left(at) for g in self.guards if isinstance(g, UsageGuard)))

    def in_time(self, at: datetime) -> tuple[Verdict, ...]:
        """The Stop of the attempt's deadline, if it is reached at the instant `at`."""
        verdicts = (g.in_time(at) for g in self.guards if isinstance(g, UsageGuard))
        return tuple(verdict for verdict in verdicts if isinstance(verdict, Stop))[:1]

    @property
    def progress_due(self) -> bool:
        """Whether a progress report should be asked for with the next notices."""
        return any(guard.due for guard in self.guards if isinstance(guard, CheckpointGuard))

    def earlier(self, call: ToolCall) -> int | None:
        """The seq of the call whose result answers this one, or None when it must be executed."""
        return self.duplicates.earlier(call)

    @property
    def _budget(self) -> BudgetGuard:
        return next(guard for guard in self.guards if isinstance(guard, BudgetGuard))

    @property
    def _turns(self) -> TurnGuard:
        return next(guard for guard in self.guards if isinstance(guard, TurnGuard))

    @property
    def _stall(self) -> StallGuard:
        return next(guard for guard in self.guards if isinstance(guard, StallGuard))

    # -- the fold ------------------------------------------------------------------------------------------------

    def observe(self, event: Event) -> tuple[GuardSet, Verdict]:
        """The GuardSet after the event, and the strictest verdict over it."""
        guard_set, verdicts = self.judge(event)
        return guard_set, (verdicts[0] if verdicts else ALLOW)

    def judge(self, event: Event) -> tuple[GuardSet, tuple[Verdict, ...]]:
        """The set after the event, and every verdict other than Allow, strictest first. After a Stop it is that."""
        if self.stopped is not None:
            return self, (self.stopped,)
        if isinstance(event, GuardFired | Finished):
            return self, ()
        if self._repeated(event):
            return self, ()
        return self._fold(event)

    def _repeated(self, event: Event) -> bool:
        """Whether the event is about a call that an identical one of the same reply answers."""
        if isinstance(event, ToolRequested):
            return event.duplicate_of is not None and event.seq in self.repeats
        return isinstance(event, ToolFinished) and event.status == "duplicate" and event.seq in self.repeats

    def _fold(self, event: Event) -> tuple[GuardSet, tuple[Verdict, ...]]:
        try:
            duplicates = self.duplicates.observe(event)
            pairs = [guard.observe(event) for guard in self.guards]
            said = (*(verdict for _, verdict in pairs), self._refused(event))
        except Exception as error:  # fail closed: whatever a guard raises, the attempt must not go on unguarded
            return self._failed(error)
        guards = tuple([guard for guard, _ in pairs])
        guards = self._begun_anew(guards) if isinstance(event, Resumed) else guards
        repeats = _repeats(event) if isinstance(event, ReplyReceived) else self.repeats
        spoken, stopped = [verdict for verdict in said if not isinstance(verdict, Allow)], None
        if spoken:
            spoken.sort(key=attrgetter("rank"), reverse=True)
            stopped = spoken[0] if isinstance(spoken[0], Stop) else None
            spoken = [each for each in spoken if each is stopped or not isinstance(each, Stop)]  # one end, one Stop
        after = evolve(self, guards=guards, duplicates=duplicates, repeats=repeats, stopped=stopped)
        return after, tuple(spoken)

    def _refused(self, event: Event) -> Verdict:
        """What is said to a call that has failed too often."""
        if not isinstance(event, ToolRequested) or not self.duplicates.failures:
            return ALLOW
        return self.duplicates.judge(event, forcing=self._stall.forcing)

    def _begun_anew(self, guards: tuple[Guard, ...]) -> tuple[Guard, ...]:
        """The guards of a successor. What was used stays used; what was repeated was another conversation, of which it
        knows nothing: making the first call of a dead worker once more is no repetition of its own."""
        fresh = {type(guard): guard for guard in _of_one_worker(self.limits)}
        return tuple(fresh.get(type(guard), guard) for guard in guards)

    def _failed(self, error: Exception) -> tuple[GuardSet, tuple[Verdict, ...]]:
        # "panel" is what recorded graphs call the set
        failed = Rule("panel", "guard_failed").stop(1, 0, {"error": f"{type(error).__name__}: {error}"})
        return evolve(self, stopped=failed), (failed,)


def _of_one_worker(limits: GuardLimits) -> tuple[Guard, ...]:
    """The guards of what one worker does over and over."""
    return (
        RepetitionGuard.begin(limits),
        FiguresGuard.begin(limits),
        NoNewsGuard(limits),
        SameErrorGuard(limits),
        SameFailureGuard(limits),
        StallGuard.begin(limits),
        NoActionGuard(limits),
        ThrashGuard(limits),
        MalformedGuard(limits),
        WindowGuard(limits),
    )


def _repeats(event: ReplyReceived) -> frozenset[int]:
    first: dict[str, int] = {}
    return frozenset(c.seq for c in event.reply.calls if first.setdefault(c.signature, c.seq) != c.seq)


def replay(guard_set: GuardSet, events: Sequence[Event]) -> GuardSet:
    """The GuardSet after the events, as the live one was after them."""
    for event in events:
        guard_set, _ = guard_set.observe(event)
    return guard_set
