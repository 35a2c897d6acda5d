"""request_budget and request_scope, decided by the PM role in one bounded call with the attempt's facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from orchestrator.domain.assignment import GrantRequest
from orchestrator.domain.attempt import Owner
from orchestrator.domain.errors import GraphError, OrchestrateError
from orchestrator.domain.plan import PlanningRound
from orchestrator.domain.ports import Workspace
from orchestrator.engine.loop.control_tools import Grant, refused_grant
from orchestrator.engine.loop.conversation import ConversationResult
from orchestrator.engine.loop.dialogue import converse
from orchestrator.engine.loop.metering import Meter
from orchestrator.engine.loop.progress import ProgressFeed
from orchestrator.engine.services import Services

_PURPOSES: Mapping[str, Literal["budget", "scope"]] = {"calls": "budget", "scope": "scope"}
_ONE_REPLY = {"no_action_turns": 1, "malformed_replies": 1}
"""The PM is asked once: an answer that is none refuses."""


@dataclass(frozen=True)
class AskPlanner:
    """A GrantPolicy that asks the PM; a PM that cannot be asked or answers badly refuses."""

    services: Services
    attempt_id: str
    workspace: Workspace
    meter: Meter | None
    feed: ProgressFeed
    _asked: Iterator[int] = field(default_factory=lambda: count(1))

    def __call__(self, request: GrantRequest) -> Grant:
        """The PM's answer. Raises GraphError kinds."""
        try:
            return self._ask(request)
        except GraphError:
            raise
        except OrchestrateError as error:  # no model or key for the PM, for example: the attempt itself goes on
            return refused_grant(f"The PM cannot be asked. {error}", "rule")

    def _ask(self, request: GrantRequest) -> Grant:
        writer, purpose = self.services.writer, _PURPOSES[request.kind]
        round_id = f"{self.attempt_id}:{request.kind}{next(self._asked)}"  # a node a question, also when asked again
        opened = PlanningRound(id=round_id, plan_id=request.task.plan_id, number=0, purpose=purpose)
        writer.store_round(opened)
        session = self.services.planner.decide(request)
        dialogue = converse(
            self.services,
            role="planner",
            session=session,
            owner=Owner("PlanningRound", round_id),
            workspace=self.workspace,
            meter=self.meter,
            feed=self.feed,
            budget=1,
            limits=self.services.settings.guards.model_copy(update=_ONE_REPLY),
        )
        writer.store_round(dialogue.completed(opened))
        return _grant(dialogue.result, session.model)


def _grant(ended: ConversationResult, model: str) -> Grant:
    if ended.reason != "submitted":
        return refused_grant(f"The PM gave no decision ({ended.reason}).", model)
    answer = ended.arguments
    return Grant(
        granted=bool(answer.get("granted")),
        amount=int(answer.get("amount") or 0),
        paths=tuple(answer.get("paths") or ()),
        reason=str(answer.get("reason") or ""),
        decided_by=model,
    )
