"""Opens a conversation that is no attempt: a review, a planning round, a decision about a grant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from orchestrator.domain.events import Event
from orchestrator.domain.ports import Session, Workspace
from orchestrator.domain.records import Owner
from orchestrator.engine.conversation import Conversation, Ending, Subject
from orchestrator.engine.journal import Journal
from orchestrator.engine.parts import Parts
from orchestrator.engine.purse import Purse
from orchestrator.engine.totals import Totals
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.panel import Panel


class Unrecorded:
    """A recorder for what must not be stored: `plan --dry-run`."""

    def record(self, _owner: Owner, _events: Sequence[Event]) -> None:
        """Store nothing."""


def converse(
    parts: Parts,
    *,
    role: Literal["verifier", "planner"],
    session: Session,
    owner: Owner,
    workspace: Workspace,
    purse: Purse,
    subject: Subject,
    budget: int,
    limits: GuardLimits | None = None,
    recorded: bool = True,
) -> tuple[Ending, Totals, float]:
    """Drive a QC or PM session to its submit tool under its own Panel (of the settings' limits with one repair turn for
    an answer in text, or of other limits): how it ended, what it used, milliseconds."""
    started = parts.clock.monotonic()
    journal = Journal(
        parts.writer if recorded else Unrecorded(),
        owner,
        Panel.begin(limits or _with_one_repair(parts.settings.guards), budget, (), role=role),
    )
    conversation = Conversation(
        session=session,
        journal=journal,
        workspace=workspace,
        purse=purse,
        controls=None,
        ending_tools=session.control_tools,
        subject=subject,
        clock=parts.clock,
        listener=parts.listener,
        cancelled=parts.cancelled,
    )
    ending = conversation.run()
    return ending, conversation.totals, (parts.clock.monotonic() - started) * 1000


def _with_one_repair(limits: GuardLimits) -> GuardLimits:
    return limits.model_copy(update={"no_action_turns": min(limits.no_action_turns, 2)})
