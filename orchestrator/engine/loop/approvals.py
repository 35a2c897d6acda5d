"""request_budget and request_scope, decided by the PM role in one bounded call with the attempt's facts."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from orchestrator.domain.assignment import GrantRequest
from orchestrator.domain.attempt import Owner
from orchestrator.domain.errors import GraphError, OrchestrateError
from orchestrator.domain.plan import PlanningRound
from orchestrator.domain.ports import Workspace
from orchestrator.engine.loop.control_tools import Grant, GrantPolicy, refused_grant
from orchestrator.engine.loop.conversation import ConversationResult
from orchestrator.engine.loop.dialogue import converse
from orchestrator.engine.loop.metering import Meter
from orchestrator.engine.loop.progress import ProgressFeed
from orchestrator.engine.services import Services

_ONE_REPLY = {"no_action_turns": 1, "malformed_replies": 1}
"""The PM is asked once: an answer that is none refuses."""


def ask_planner(
    services: Services, attempt_id: str, workspace: Workspace, meter: Meter, feed: ProgressFeed
) -> GrantPolicy:
    """A policy that asks the PM; a PM that cannot be asked or answers badly refuses."""
    asked = count(1)

    def decide(request: GrantRequest) -> Grant:
        try:
            return ask(request)
        except GraphError:
            raise
        except OrchestrateError as error:  # no model or key for the PM, for example: the attempt itself goes on
            return refused_grant(f"The PM cannot be asked. {error}", "rule")

    def ask(request: GrantRequest) -> Grant:
        round_id = f"{attempt_id}:{request.kind}{next(asked)}"  # one node a question, also when it is asked again
        opened = PlanningRound(
            id=round_id,
            plan_id=request.task.plan_id,
            number=0,
            purpose="budget" if request.kind == "calls" else "scope",
        )
        services.writer.store_round(opened)
        session = services.planner.decide(request)
        asked_pm = converse(
            services,
            role="planner",
            session=session,
            owner=Owner("PlanningRound", round_id),
            workspace=workspace,
            meter=meter,
            feed=feed,
            budget=1,
            limits=services.settings.guards.model_copy(update=_ONE_REPLY),
        )
        services.writer.store_round(
            replace(
                opened,
                prompt_tokens=asked_pm.usage.prompt_tokens,
                cached_tokens=asked_pm.usage.cached_tokens,
                completion_tokens=asked_pm.usage.completion_tokens,
                cost_usd=asked_pm.usage.cost_usd,
                duration_ms=asked_pm.duration_ms,
            )
        )
        return _grant(asked_pm.result, session.model)

    return decide


def _grant(ending: ConversationResult, model: str) -> Grant:
    if ending.reason != "submitted":
        return refused_grant(f"The PM gave no decision ({ending.reason}).", model)
    answer = ending.arguments
    return Grant(
        granted=bool(answer.get("granted")),
        amount=int(answer.get("amount") or 0),
        paths=tuple(answer.get("paths") or ()),
        reason=str(answer.get("reason") or ""),
        decided_by=model,
    )
