"""The report of a task that ran out, as QC's model adds to it in one bounded call; without it where that fails."""

from __future__ import annotations

from orchestrator.domain.assignment import FailureBrief
from orchestrator.domain.attempt import FailureReport, Owner
from orchestrator.domain.errors import GraphError, OrchestrateError
from orchestrator.domain.plan import PlanningRound
from orchestrator.domain.run import Claim
from orchestrator.engine.loop.dialogue import converse
from orchestrator.engine.loop.metering import Meter
from orchestrator.engine.loop.progress import ProgressFeed
from orchestrator.engine.services import Services
from orchestrator.gates.failure_report import reported_by_model

_ONE_REPLY = {"no_action_turns": 1, "malformed_replies": 1}


def told_by_model(services: Services, claim: Claim, report: FailureReport, meter: Meter | None) -> FailureReport:
    """The report with what QC's model says to it; as it is where the model cannot be asked, says nothing, or run or
    task may spend nothing more. Raises GraphError kinds."""
    if services.cancelled.is_set():
        return report
    try:
        return _asked(services, claim, report, meter)
    except GraphError:
        raise
    except OrchestrateError:  # no model or key, for example: what is recorded is told all the same
        return report


def _asked(services: Services, claim: Claim, report: FailureReport, meter: Meter | None) -> FailureReport:
    session = services.verifier.report(FailureBrief(task=claim.task, report=report))
    round_id = f"{claim.attempt_id}:report"
    opened = PlanningRound(id=round_id, plan_id=claim.task.plan_id, number=0, purpose="report")
    services.writer.store_round(opened)
    dialogue = converse(
        services,
        role="verifier",
        session=session,
        owner=Owner("PlanningRound", round_id),
        workspace=None,
        meter=meter,
        feed=ProgressFeed(services.listener, claim.task.key, claim.number),
        budget=1,
        limits=services.settings.guards.model_copy(update=_ONE_REPLY),
    )
    services.writer.store_round(dialogue.completed(opened))
    if dialogue.result.reason != "submitted":
        return report
    return reported_by_model(report, dialogue.result.arguments)
