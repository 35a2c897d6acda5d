"""Repetition: the same call with the same outcome over the same tree, alone or in a cycle."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from orchestrator.domain.events import Event, ReplyReceived, ToolFinished
from orchestrator.domain.evolve import evolve
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Evidence, Scalar, Verdict
from orchestrator.guards.cycle import Cycle
from orchestrator.guards.guard import called
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.tree import TreeState

_RULE = Rule("repetition", "loop_detected")
_CAUSES = 16


@dataclass(frozen=True)
class RepetitionGuard:
    """A changed outcome or tree makes another triple, so polling and re-running tests after an edit never trip.
    `told` are the last causes that the worker was warned about; `replies` are the replies that the last calls came
    with: a cycle whose every round is one reply is a stall, which has its own rule."""

    limits: GuardLimits
    triples: Cycle
    replies: tuple[int, ...] = ()
    reply: int = 0
    tree: TreeState = field(default_factory=TreeState)
    told: tuple[Hashable, ...] = field(default=())

    @classmethod
    def begin(cls, limits: GuardLimits) -> RepetitionGuard:
        """Before the first call."""
        return cls(limits, Cycle(limits.cycle_longest))

    def observe(self, event: Event) -> tuple[RepetitionGuard, Verdict]:
        """Add a finished call; infrastructure errors never count."""
        if isinstance(event, ReplyReceived):
            return evolve(self, reply=self.reply + 1), ALLOW
        if not isinstance(event, ToolFinished) or event.result.error_kind == "infrastructure":
            return self, ALLOW
        tree = self.tree.after(event)
        triples = self.triples.add((event.call.signature, event.result.outcome_hash, tree.id, event.call.tool))
        replies = (*self.replies, self.reply)[-self.limits.cycle_longest - 1 :]
        return evolve(self, triples=triples, replies=replies, tree=tree)._judge(event)

    def _judge(self, event: ToolFinished) -> tuple[RepetitionGuard, Verdict]:
        count, limits = self.triples.in_a_row, self.limits
        if count >= limits.repetition_stop:
            return self, _RULE.stop(count, limits.repetition_stop, called(event.call))
        period = self._completed(limits.cycle_rounds)
        if period is not None:
            return self, _RULE.stop(limits.cycle_rounds, limits.cycle_rounds, self._cycle(period, event))
        if count >= limits.repetition_warn:
            return self._warn(count, limits.repetition_stop, called(event.call), self.triples.recent[-1:])
        nudged = self._completed(limits.cycle_rounds - 1) if limits.cycle_rounds > 2 else None
        if nudged is not None:
            cause = frozenset(self.triples.recent[-nudged:])
            return self._warn(limits.cycle_rounds - 1, limits.cycle_rounds, self._cycle(nudged, event), cause)
        return self, ALLOW

    def _completed(self, rounds: int) -> int | None:
        period = self.triples.completed(rounds)
        if period is None or self.replies[-1] - self.replies[-1 - period] != 1:
            return period
        return None  # each round is one reply

    def _cycle(self, period: int, event: ToolFinished) -> Evidence:
        tools: list[Scalar] = [str(triple[-1]) for triple in self._last(period)]
        return {**called(event.call), "period": period, "tools": tools}

    def _last(self, period: int) -> list[tuple[Hashable, ...]]:
        return [triple for triple in self.triples.recent[-period:] if isinstance(triple, tuple)]

    def _warn(self, count: int, limit: int, evidence: Evidence, cause: Hashable) -> tuple[RepetitionGuard, Verdict]:
        if cause in self.told:
            return self, ALLOW
        message = (
            f"You have made the same call{'s' if 'period' in evidence else ''} with the same result {count} times, and "
            f"no file has changed; at {limit} the attempt is stopped. Use what you know, or try something else."
        )
        told = (*self.told, cause)[-_CAUSES:]
        return evolve(self, told=told), _RULE.warn(message, count, limit, evidence)
