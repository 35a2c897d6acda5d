"""Opens a conversation that is no attempt: a review, a planning round, a decision about a grant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from orchestrator.domain.attempt import Owner
from orchestrator.domain.events import Event
from orchestrator.domain.ports import Session, Workspace
from orchestrator.engine.loop.conversation import Conversation, ConversationResult, Subject
from orchestrator.engine.loop.journal import Journal
from orchestrator.engine.loop.metering import Meter
from orchestrator.engine.loop.totals import Totals
from orchestrator.engine.services import Services
from orchestrator.guards.guard_set import GuardSet
from orchestrator.guards.limits import GuardLimits


class Unrecorded:
    """A recorder for what must not be stored: `plan --dry-run`."""

    def record(self, _owner: Owner, _events: Sequence[Event]) -> None:
        """Store nothing."""


def converse(
    services: Services,
    *,
    role: Literal["verifier", "planner"],
    session: Session,
    owner: Owner,
    workspace: Workspace,
    meter: Meter,
    subject: Subject,
    budget: int,
    limits: GuardLimits | None = None,
    recorded: bool = True,
) -> tuple[ConversationResult, Totals, float]:
    """Drive a QC or PM session to its submit tool under its own guards (of the settings' limits with one repair turn
    for an answer in text, or of other limits): how it ended, what it used, milliseconds."""
    started = services.clock.monotonic()
    journal = Journal(
        services.writer if recorded else Unrecorded(),
        owner,
        GuardSet.begin(limits or _with_one_repair(services.settings.guards), budget, (), role=role),
    )
    conversation = Conversation(
        session=session,
        journal=journal,
        workspace=workspace,
        meter=meter,
        controls=None,
        ending_tools=session.control_tools,
        subject=subject,
        clock=services.clock,
        listener=services.listener,
        cancelled=services.cancelled,
    )
    ending = conversation.run()
    return ending, conversation.totals, (services.clock.monotonic() - started) * 1000


def _with_one_repair(limits: GuardLimits) -> GuardLimits:
    return limits.model_copy(update={"no_action_turns": min(limits.no_action_turns, 2)})
