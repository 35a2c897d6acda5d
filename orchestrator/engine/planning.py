"""Planning: the PM proposes, pre-flight judges, and what is refused goes back to the PM, in bounded rounds.

Every round is in the graph with its turns and calls, also when no plan comes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.domain.assignment import PlanningAssignment
from orchestrator.domain.attempt import Owner
from orchestrator.domain.plan import CheckNeeds, Plan, PlanningRound, Repository
from orchestrator.domain.ports import Workspace
from orchestrator.domain.progress import RoundEnded, RoundStarted
from orchestrator.domain.usage import Usage, total_usage
from orchestrator.engine.loop.conversation import ConversationResult
from orchestrator.engine.loop.dialogue import Dialogue, converse
from orchestrator.engine.loop.progress import ProgressFeed
from orchestrator.engine.no_plan import MOST_ROUNDS, MOST_SILENT_ROUNDS, no_plan
from orchestrator.engine.plan_baseline import failures_before
from orchestrator.engine.programs import missing_in, network_reached
from orchestrator.engine.services import Services
from orchestrator.planning.plan_file import PlanFile
from orchestrator.planning.preflight import Preflight, judge_plan
from orchestrator.planning.programs import MissingPrograms
from orchestrator.planning.validate import Defect, Examined, examine_submission


@dataclass(frozen=True, slots=True)
class PlanningResult:
    """A judged plan; `defects` are what pre-flight refuses (none: ready), `file` the plan as it can be written out."""

    plan: Plan
    file: PlanFile
    defects: tuple[str, ...]
    warnings: tuple[str, ...]
    stored: bool


def plan_from_file(
    services: Services, repository: Repository, base_commit: str, examined: Examined, *, store: bool
) -> PlanningResult:
    """Judge and store a plan written by hand (or by another PM). Needs no model. Raises PlanFileError."""
    file = _verified(services, examined.ready())
    plan_id = services.ids.new("p")
    missing = missing_in(services, file, base_commit)
    judged = _judge(services, file, repository.id, plan_id, services.workspaces.files_of(base_commit), missing)
    plan = _plan(services, repository, base_commit, plan_id, file, judged, Usage(), "")
    if store:
        services.writer.register_repository(repository)
        services.writer.store_plan(plan)
    return PlanningResult(plan, file, _with_lines(_defects(judged), examined.refusals), judged.warnings, store)


def plan_goal(
    services: Services, repository: Repository, base_commit: str, goal: str, *, store: bool
) -> PlanningResult:
    """Ask the PM, at most MOST_ROUNDS times. Raises PlanError when no round gave a plan that can be read, when the
    model called no tool in MOST_SILENT_ROUNDS of them or declined, and the ModelError that ended it."""
    draft = Plan(
        id=services.ids.new("p"),
        repository=repository,
        goal=goal,
        status="draft",
        base_commit=base_commit,
        created_at=services.clock.now(),
    )
    if store:
        services.writer.register_repository(repository)
        services.writer.store_plan(draft)
    services.workspaces.sweep()
    workspace = services.workspaces.open(f"{draft.id}:planning", base_commit, head=base_commit)
    try:
        return _rounds(services, draft, workspace, store=store)
    finally:
        workspace.close()


def _rounds(services: Services, draft: Plan, workspace: Workspace, *, store: bool) -> PlanningResult:
    previous: Mapping[str, Any] = {}
    defects: tuple[str, ...] = ()
    outcome: PlanningResult | None = None
    used, silent, failing = Usage(), 0, failures_before(services, draft)
    for number in range(1, MOST_ROUNDS + 1):
        assignment = PlanningAssignment(
            goal=draft.goal,
            repository_files=workspace.files(),
            round=number,
            previous_plan=previous,
            defects=defects,
            budget=services.settings.budgets.planner,
            verification=services.settings.checks.commands,
            known_failures=failing,
        )
        dialogue, model = _round(services, draft, workspace, assignment, store=store)
        used = total_usage((used, dialogue.usage))
        previous = dialogue.result.arguments
        file, defects = _read(dialogue.result, draft.goal, assignment.repository_files)
        file = file and _verified(services, file)
        judged = _judged(services, file, draft, assignment.repository_files, workspace) if file else None
        defects = defects or (_defects(judged) if judged else ())
        _round_ended(services, draft, number, dialogue, len(file.tasks) if file else 0, defects, store=store)
        if file and judged:
            plan = _plan(services, draft.repository, draft.base_commit, draft.id, file, judged, used, model)
            outcome = PlanningResult(replace(plan, created_at=draft.created_at), file, defects, judged.warnings, store)
            if judged.accepted:
                break
        silent += dialogue.result.reason == "no_action"
        if dialogue.result.reason == "model_declined" or (outcome is None and silent == MOST_SILENT_ROUNDS):
            break
    return _settled(services, draft, outcome, defects, dialogue.result, silent=silent, store=store)


def _settled(
    services: Services,
    draft: Plan,
    outcome: PlanningResult | None,
    defects: tuple[str, ...],
    last: ConversationResult,
    *,
    silent: int,
    store: bool,
) -> PlanningResult:
    if store:
        services.writer.store_plan(outcome.plan if outcome else replace(draft, status="rejected"))
    if outcome is None:
        see = f"see its rounds with `orchestrate show {draft.id}`, " if store else ""
        raise no_plan(last, defects, silent=silent, see=see)
    return outcome


def _round(
    services: Services, draft: Plan, workspace: Workspace, assignment: PlanningAssignment, *, store: bool
) -> tuple[Dialogue, str]:
    session = services.planner.begin(assignment, workspace)
    opened = _opened(draft, assignment.round)
    if store:
        services.writer.store_round(opened)
    services.listener(
        RoundStarted(at=services.clock.now(), number=assignment.round, purpose="plan", model=session.model)
    )
    dialogue = converse(
        services,
        role="planner",
        session=session,
        owner=Owner("PlanningRound", opened.id),
        workspace=workspace,
        meter=None,
        feed=ProgressFeed(services.listener, "plan", assignment.round),
        budget=assignment.budget,
        recorded=store,
    )
    if dialogue.result.error is not None:
        raise dialogue.result.error
    if dialogue.result.reason == "interrupted":
        raise KeyboardInterrupt
    return dialogue, session.model


def _read(ended: ConversationResult, goal: str, files: tuple[str, ...]) -> tuple[PlanFile | None, tuple[str, ...]]:
    """The submitted plan, or what is wrong with it (never both)."""
    if ended.reason != "submitted":
        return None, (f"no plan was submitted: {ended.reason}. {ended.detail}",)
    examined = examine_submission({**ended.arguments, "goal": goal}, files)  # the goal is the user's, in their words
    if examined.plan is None:
        return None, tuple(str(defect) for defect in (*examined.defects, *examined.refusals))
    return examined.plan, ()


def _verified(services: Services, file: PlanFile) -> PlanFile:
    """A plan that names no verification has that of the settings."""
    commands = file.verification or services.settings.checks.commands
    return file.model_copy(update={"verification": commands})


def _judged(services: Services, file: PlanFile, draft: Plan, files: tuple[str, ...], workspace: Workspace) -> Preflight:
    missing = missing_in(services, file, draft.base_commit, workspace)
    return _judge(services, file, draft.repository.id, draft.id, files, missing)


def _judge(
    services: Services,
    file: PlanFile,
    repository_id: str,
    plan_id: str,
    files: tuple[str, ...],
    missing: MissingPrograms,
) -> Preflight:
    settings = services.settings
    return judge_plan(
        file,
        plan_id=plan_id,
        ids=services.ids,
        thresholds=settings.complexity,
        budgets=settings.budgets,
        repository_files=files,
        history=services.reader.accepted_calls(repository_id),
        missing=missing,
        network=network_reached(services),
    )


def _with_lines(defects: tuple[str, ...], places: Sequence[Defect]) -> tuple[str, ...]:
    """The defects, those whose place in the file is known with its line: `a: verification[0]: ...` becomes
    `a, verification[0], line 7: ...`."""
    spelled = ((p, p.field.replace("verification_commands", "verification")) for p in places)
    known = {": ".join(filter(None, (p.task, field, p.message))): str(p) for p, field in spelled}
    exact = ((next((told for told in known if defect.startswith(told)), None), defect) for defect in defects)
    return tuple(known[told] + defect.removeprefix(told) if told else defect for told, defect in exact)


def _defects(judged: Preflight) -> tuple[str, ...]:
    """What pre-flight refuses, each with its task and the way out, once a task."""
    refused = [planned for planned in judged.tasks if planned.status == "rejected"]
    return judged.refusals + tuple(
        ". ".join(filter(None, (f"{planned.task.key}: {reason}", planned.assessment.recommendation * (number == 0))))
        for planned in refused
        for number, reason in enumerate(planned.assessment.rejected_because)
    )


def _opened(draft: Plan, number: int) -> PlanningRound:
    return PlanningRound(id=f"{draft.id}:round{number}", plan_id=draft.id, number=number)


def _round_ended(
    services: Services,
    draft: Plan,
    number: int,
    dialogue: Dialogue,
    tasks: int,
    defects: tuple[str, ...],
    *,
    store: bool,
) -> None:
    if store:
        services.writer.store_round(dialogue.completed(_opened(draft, number), defects))
    services.listener(
        RoundEnded(
            at=services.clock.now(),
            number=number,
            purpose="plan",
            tasks=tasks,
            defects=defects,
            tokens=dialogue.usage.tokens,
            cost_usd=dialogue.usage.cost_usd,
        )
    )


def _plan(
    services: Services,
    repository: Repository,
    base_commit: str,
    plan_id: str,
    file: PlanFile,
    judged: Preflight,
    used: Usage,
    model: str,
) -> Plan:
    return Plan(
        id=plan_id,
        repository=repository,
        goal=file.goal,
        status="ready" if judged.accepted else "rejected",
        base_commit=base_commit,
        created_at=services.clock.now(),
        tasks=judged.tasks,
        verification=file.verification,
        full_verification=file.full_verification,
        checks=tuple(CheckNeeds(each.command, each.heavy, each.services, each.network) for each in file.checks),
        model=model,
        prompt_tokens=used.prompt_tokens,
        completion_tokens=used.completion_tokens,
    )
