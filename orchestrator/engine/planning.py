"""Planning: the PM proposes, pre-flight judges, and what is refused goes back to the PM, in bounded rounds.

Every round is in the graph with its turns and calls, also when no plan comes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.domain.errors import PlanError
from orchestrator.domain.plan import PlanFile
from orchestrator.domain.plan_defects import Defect, Examined, Source, examine
from orchestrator.domain.ports import PlanningAssignment, Workspace
from orchestrator.domain.preflight import Preflight, judge
from orchestrator.domain.progress import RoundEnded, RoundStarted
from orchestrator.domain.records import Owner, Plan, PlanningRound, Repository
from orchestrator.engine.conversation import Ending, Subject
from orchestrator.engine.dialogue import converse
from orchestrator.engine.parts import Parts
from orchestrator.engine.purse import unbounded
from orchestrator.engine.totals import Totals

MOST_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """A judged plan; `defects` are what pre-flight refuses (none: ready), `file` the plan as it can be written out."""

    plan: Plan
    file: PlanFile
    defects: tuple[str, ...]
    warnings: tuple[str, ...]
    stored: bool


def plan_from_file(
    parts: Parts, repository: Repository, base_commit: str, examined: Examined, *, store: bool
) -> PlanOutcome:
    """Judge and store a plan written by hand (or by another PM). Needs no model. Raises PlanFileError."""
    file = examined.ready()
    plan_id = parts.ids.new("p")
    judged = _judge(parts, file, repository.id, plan_id, parts.workspaces.files_of(base_commit))
    plan = _plan(parts, repository, base_commit, plan_id, file, judged, Totals(), "")
    if store:
        parts.writer.register_repository(repository)
        parts.writer.store_plan(plan)
    return PlanOutcome(plan, file, _with_lines(_defects(judged), examined.refusals), judged.warnings, store)


def plan_goal(parts: Parts, repository: Repository, base_commit: str, goal: str, *, store: bool) -> PlanOutcome:
    """Ask the PM, at most MOST_ROUNDS times. Raises PlanError when no round gave a plan that can be read, and the
    ModelError that ended it."""
    draft = Plan(parts.ids.new("p"), repository, goal, "draft", base_commit, parts.clock.now())
    if store:
        parts.writer.register_repository(repository)
        parts.writer.store_plan(draft)
    parts.workspaces.sweep()
    workspace = parts.workspaces.open(f"{draft.id}:planning", base_commit, head=base_commit)
    try:
        return _rounds(parts, draft, workspace, store=store)
    finally:
        workspace.close()


def _rounds(parts: Parts, draft: Plan, workspace: Workspace, *, store: bool) -> PlanOutcome:
    previous: Mapping[str, Any] = {}
    defects: tuple[str, ...] = ()
    outcome: PlanOutcome | None = None
    used = Totals()
    for number in range(1, MOST_ROUNDS + 1):
        assignment = PlanningAssignment(
            goal=draft.goal,
            repository_files=workspace.files(),
            round=number,
            previous_plan=previous,
            defects=defects,
            budget=parts.settings.budgets.planner,
        )
        ending, totals, model = _round(parts, draft, workspace, assignment, store=store)
        used = used.plus(totals)
        previous = ending.arguments
        file, defects = _read(ending, draft.goal)
        judged = _judge(parts, file, draft.repository.id, draft.id, assignment.repository_files) if file else None
        defects = defects or (_defects(judged) if judged else ())
        _round_ended(parts, draft, number, totals, len(file.tasks) if file else 0, defects, store=store)
        if file and judged:
            plan = _plan(parts, draft.repository, draft.base_commit, draft.id, file, judged, used, model)
            outcome = PlanOutcome(replace(plan, created_at=draft.created_at), file, defects, judged.warnings, store)
            if judged.accepted:
                break
    return _settled(parts, draft, outcome, defects, store=store)


def _settled(
    parts: Parts, draft: Plan, outcome: PlanOutcome | None, defects: tuple[str, ...], *, store: bool
) -> PlanOutcome:
    if outcome is None:
        if store:
            parts.writer.store_plan(replace(draft, status="rejected"))
        listed = "".join(f"\n  {defect}" for defect in defects)
        see = f"see its rounds with `orchestrate show {draft.id}`, " if store else ""
        raise PlanError(
            f"The PM gave no usable plan in {MOST_ROUNDS} rounds. Say the goal more exactly, {see}or use --file. "
            f"The last round's defects:{listed}"
        )
    if store:
        parts.writer.store_plan(outcome.plan)
    return outcome


def _round(
    parts: Parts, draft: Plan, workspace: Workspace, assignment: PlanningAssignment, *, store: bool
) -> tuple[Ending, Totals, str]:
    session = parts.planner.begin(assignment, workspace)
    round_id = f"{draft.id}:round{assignment.round}"
    if store:
        parts.writer.store_round(PlanningRound(round_id, draft.id, assignment.round))
    parts.listener(RoundStarted(parts.clock.now(), assignment.round, "plan", session.model))
    ending, totals, duration_ms = converse(
        parts,
        role="planner",
        session=session,
        owner=Owner("PlanningRound", round_id),
        workspace=workspace,
        purse=unbounded(),
        subject=Subject("plan", assignment.round),
        budget=assignment.budget,
        recorded=store,
    )
    if ending.error is not None:
        raise ending.error
    if ending.reason == "interrupted":
        raise KeyboardInterrupt
    return ending, replace(totals, duration_ms=duration_ms), session.model


def _read(ending: Ending, goal: str) -> tuple[PlanFile | None, tuple[str, ...]]:
    """The submitted plan, or what is wrong with it (never both)."""
    if ending.reason != "submitted":
        return None, (f"no plan was submitted: {ending.reason}. {ending.detail}",)
    examined = examine(Source({**ending.arguments, "goal": goal}))  # the goal is the user's, in their words
    if examined.plan is None:
        return None, tuple(str(defect) for defect in (*examined.defects, *examined.refusals))
    return examined.plan, ()


def _judge(parts: Parts, file: PlanFile, repository_id: str, plan_id: str, files: tuple[str, ...]) -> Preflight:
    settings = parts.settings
    return judge(
        file,
        plan_id=plan_id,
        ids=parts.ids,
        thresholds=settings.complexity,
        budgets=settings.budgets,
        repository_files=files,
        history=parts.reader.accepted_calls(repository_id),
    )


def _with_lines(defects: tuple[str, ...], places: Sequence[Defect]) -> tuple[str, ...]:
    """The defects, those whose place in the file is known with its line: `a: verification[0]: ...` becomes
    `a, verification[0], line 7: ...`."""
    known = {": ".join(filter(None, (p.task, _canonical(p.field), p.message))): str(p) for p in places}
    exact = ((next((told for told in known if defect.startswith(told)), None), defect) for defect in defects)
    return tuple(known[told] + defect.removeprefix(told) if told else defect for told, defect in exact)


def _canonical(field: str) -> str:
    return field.replace("verification_commands", "verification")


def _defects(judged: Preflight) -> tuple[str, ...]:
    """What pre-flight refuses, each with its task and the way out, once a task."""
    refused = [planned for planned in judged.tasks if planned.status == "rejected"]
    return judged.refusals + tuple(
        ". ".join(filter(None, (f"{planned.task.key}: {reason}", planned.assessment.recommendation * (number == 0))))
        for planned in refused
        for number, reason in enumerate(planned.assessment.rejected_because)
    )


def _round_ended(
    parts: Parts,
    draft: Plan,
    number: int,
    totals: Totals,
    tasks: int,
    defects: tuple[str, ...],
    *,
    store: bool,
) -> None:
    if store:
        parts.writer.store_round(
            PlanningRound(
                id=f"{draft.id}:round{number}",
                plan_id=draft.id,
                number=number,
                prompt_tokens=totals.prompt_tokens,
                cached_tokens=totals.cached_tokens,
                completion_tokens=totals.completion_tokens,
                cost_usd=totals.cost_usd,
                duration_ms=totals.duration_ms,
                defects=defects,
            )
        )
    parts.listener(RoundEnded(parts.clock.now(), number, "plan", tasks, defects, totals.tokens, totals.cost_usd))


def _plan(
    parts: Parts,
    repository: Repository,
    base_commit: str,
    plan_id: str,
    file: PlanFile,
    judged: Preflight,
    used: Totals,
    model: str,
) -> Plan:
    return Plan(
        id=plan_id,
        repository=repository,
        goal=file.goal,
        status="ready" if judged.accepted else "rejected",
        base_commit=base_commit,
        created_at=parts.clock.now(),
        tasks=judged.tasks,
        verification=file.verification,
        full_verification=file.full_verification,
        model=model,
        prompt_tokens=used.prompt_tokens,
        completion_tokens=used.completion_tokens,
    )
