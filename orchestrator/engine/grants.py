"""request_budget and request_scope, decided by the PM role in one bounded call with the attempt's facts (R3.4)."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from orchestrator.domain.errors import GraphError, OrchestrateError
from orchestrator.domain.ports import GrantRequest, Workspace
from orchestrator.domain.records import Owner, PlanningRound
from orchestrator.engine.controls import Arbiter, Grant, refused
from orchestrator.engine.conversation import Ending, Subject
from orchestrator.engine.dialogue import converse
from orchestrator.engine.parts import Parts
from orchestrator.engine.purse import Purse

_ONE_REPLY = {"no_action_turns": 1, "malformed_replies": 1}
"""The PM is asked once: an answer that is none refuses."""


def pm_decides(parts: Parts, attempt_id: str, workspace: Workspace, purse: Purse, subject: Subject) -> Arbiter:
    """An Arbiter that asks the PM; a PM that cannot be asked or answers badly refuses."""
    asked = count(1)

    def decide(request: GrantRequest) -> Grant:
        try:
            return ask(request)
        except GraphError:
            raise
        except OrchestrateError as error:  # no model or key for the PM, for example: the attempt itself goes on
            return refused(f"The PM cannot be asked. {error}", "rule")

    def ask(request: GrantRequest) -> Grant:
        round_id = f"{attempt_id}:{request.kind}{next(asked)}"  # one node a question, also when it is asked again
        opened = PlanningRound(
            id=round_id,
            plan_id=request.task.plan_id,
            number=0,
            purpose="budget" if request.kind == "calls" else "scope",
        )
        parts.writer.store_round(opened)
        session = parts.planner.decide(request)
        ending, totals, duration_ms = converse(
            parts,
            role="planner",
            session=session,
            owner=Owner("PlanningRound", round_id),
            workspace=workspace,
            purse=purse,
            subject=subject,
            budget=1,
            limits=parts.settings.guards.model_copy(update=_ONE_REPLY),
        )
        parts.writer.store_round(
            replace(
                opened,
                prompt_tokens=totals.prompt_tokens,
                cached_tokens=totals.cached_tokens,
                completion_tokens=totals.completion_tokens,
                cost_usd=totals.cost_usd,
                duration_ms=duration_ms,
            )
        )
        return _grant(ending, session.model)

    return decide


def _grant(ending: Ending, model: str) -> Grant:
    if ending.reason != "submitted":
        return refused(f"The PM gave no decision ({ending.reason}).", model)
    answer = ending.arguments
    return Grant(
        granted=bool(answer.get("granted")),
        amount=int(answer.get("amount") or 0),
        paths=tuple(answer.get("paths") or ()),
        reason=str(answer.get("reason") or ""),
        decided_by=model,
    )
