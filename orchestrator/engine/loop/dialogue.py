"""Opens a conversation that is no attempt: a review, a planning round, a decision about a grant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.domain.attempt import Owner
from orchestrator.domain.events import Event
from orchestrator.domain.plan import PlanningRound
from orchestrator.domain.ports import Session, Workspace
from orchestrator.domain.usage import Usage
from orchestrator.engine.loop.conversation import Conversation, ConversationResult
from orchestrator.engine.loop.journal import Journal
from orchestrator.engine.loop.metering import Meter
from orchestrator.engine.loop.progress import ProgressFeed, TurnLog
from orchestrator.engine.services import Services
from orchestrator.guards.guard_set import GuardSet
from orchestrator.guards.limits import GuardLimits


class Unrecorded:
    """A recorder for what must not be stored: `plan --dry-run`."""

    def record(self, _owner: Owner, _events: Sequence[Event]) -> None:
        """Store nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """How it ended, what it used, and its milliseconds."""

    result: ConversationResult
    usage: Usage
    duration_ms: float

    def completed(self, opened: PlanningRound, defects: tuple[str, ...] = ()) -> PlanningRound:
        """The planning round that the dialogue was, with what it used."""
        return replace(
            opened,
            prompt_tokens=self.usage.prompt_tokens,
            cached_tokens=self.usage.cached_tokens,
            cache_write_tokens=self.usage.cache_write_tokens,
            completion_tokens=self.usage.completion_tokens,
            reasoning_tokens=self.usage.reasoning_tokens,
            cost_usd=self.usage.cost_usd,
            duration_ms=self.duration_ms,
            defects=defects,
        )


def converse(
    services: Services,
    *,
    role: Literal["verifier", "planner"],
    session: Session,
    owner: Owner,
    workspace: Workspace | None,
    meter: Meter | None,
    feed: ProgressFeed,
    budget: int,
    limits: GuardLimits | None = None,
    recorded: bool = True,
) -> Dialogue:
    """Drive a QC or PM session to its submit tool under its own guards (of the settings' limits with one repair turn
    for an answer in text, or of other limits)."""
    started = services.clock.monotonic()
    guard_set = GuardSet.begin(limits or _with_one_repair(services.settings.guards), budget, (), role=role)
    journal = Journal(
        services.writer if recorded else Unrecorded(), owner, guard_set, subscribers=(feed, TurnLog(feed.task))
    )
    conversation = Conversation(
        session=session,
        journal=journal,
        workspace=workspace,
        meter=meter,
        controls=None,
        clock=services.clock,
        cancelled=services.cancelled,
        live=services.live(feed.task),
    )
    result = conversation.run()
    return Dialogue(result=result, usage=journal.usage, duration_ms=(services.clock.monotonic() - started) * 1000)


def _with_one_repair(limits: GuardLimits) -> GuardLimits:
    return limits.model_copy(update={"no_action_turns": min(limits.no_action_turns, 2)})
