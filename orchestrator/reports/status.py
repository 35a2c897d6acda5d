"""How a plan stands: its tasks, its newest run, what it cost, what is going on now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.domain.errors import UserError
from orchestrator.domain.graph_ports import GraphReader
from orchestrator.domain.plan import Plan
from orchestrator.domain.query import ResultRow
from orchestrator.domain.run import Run
from orchestrator.domain.task import TaskState
from orchestrator.domain.usage import Usage
from orchestrator.reports.ask import ask_first, ask_graph, attempt_figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """An attempt that has not ended: calls executed, its budget, and its last call."""

    task: str
    attempt: str
    calls: int
    budget: int | None
    tool: str | None
    arguments: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOverview:
    """One plan on one screen. `run` is the newest and None when there was none yet; `spend` is the run's. Attempts,
    calls and time of a task are those of all its attempts, in any run."""

    plan: Plan
    run: Run | None
    tasks: tuple[TaskState, ...]
    spend: Usage
    activity: tuple[Activity, ...]


def plan_status(reader: GraphReader, plan_id: str, run_id: str | None = None) -> PlanOverview:
    """How the plan stands, with `run_id` or its newest run."""
    run = reader.run(run_id) if run_id else reader.newest_run(plan_id)
    figures: dict[str, list[ResultRow]] = {}
    for row in attempt_figures(reader, plan_id):
        figures.setdefault(row["task"], []).append(row)
    return PlanOverview(
        plan=reader.plan(plan_id),
        run=run,
        tasks=tuple(with_all_attempts(state, figures.get(state.task.key, ())) for state in reader.tasks(plan_id)),
        spend=reader.spend(run_id=run.id) if run else Usage(),
        activity=tuple(Activity(**row) for row in ask_graph(reader, "running_calls", plan=plan_id)),
    )


def with_all_attempts(state: TaskState, figures: Sequence[ResultRow]) -> TaskState:
    """The task with the sums over its attempts' figures; as it is where it has none."""
    if not figures:
        return state
    return replace(
        state,
        attempt_number=len(figures),
        tool_call_count=sum(row["toolCalls"] for row in figures),
        duration_ms=sum(row["durationMs"] or 0.0 for row in figures),
    )


def plan_and_run(reader: GraphReader, repository_id: str, wanted: str | None) -> tuple[str, str | None]:
    """The plan (and run) that an id of any kind belongs to; without one the newest plan. Raises UserError."""
    if wanted is None:
        plan_id = reader.newest_plan(repository_id)
        if plan_id is None:
            raise UserError(
                "This repository has no plan yet.", next_step='Make one: `orchestrate plan "what you want"`.'
            )
        return plan_id, None
    label, found = reader.resolve(wanted, repository_id)
    if label == "Plan":
        return found, None
    if label == "Run":
        return reader.run(found).plan_id, found
    place = ask_first(reader, "place", id=found)
    if not place:
        raise UserError(f"{wanted} is a {label}, not a plan, run, task or attempt.")
    return str(place["plan"]), None
