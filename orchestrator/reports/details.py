"""A plan, run or task in full, and which two states of the repository a diff of it compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.domain.errors import UserError
from orchestrator.domain.plan import Plan
from orchestrator.domain.ports import GraphReader
from orchestrator.domain.query import ResultRow
from orchestrator.domain.run import Run
from orchestrator.domain.task import Assessment, TaskState
from orchestrator.domain.usage import Usage
from orchestrator.reports.ask import ask_first, ask_graph, attempt_figures, loosened_assessments
from orchestrator.reports.status import with_all_attempts
from orchestrator.reports.timeline import Timeline, attempt_timeline, newest_failure


@dataclass(frozen=True, slots=True)
class PlanDetails:
    """A plan with the PM's rounds in order; a plan from a file has none."""

    plan: Plan
    rounds: tuple[ResultRow, ...]


@dataclass(frozen=True, slots=True)
class RunDetails:
    """A run with its attempts in the order in which they began, what they have used together, and by key the tasks
    whose bounds are wider than their defaults."""

    run: Run
    attempts: tuple[ResultRow, ...]
    spend: Usage
    loosened: Mapping[str, Assessment]


@dataclass(frozen=True, slots=True)
class TaskDetails:
    """A task with what has become of it, its attempts oldest first, why it failed, and what it has used in all."""

    state: TaskState
    attempts: tuple[ResultRow, ...]
    diagnosis: ResultRow
    spend: Usage


def details_of(reader: GraphReader, label: str, id_: str) -> PlanDetails | RunDetails | TaskDetails | Timeline:
    """What an id of this label stands for. Raises UserError for a label that is shown by none of these."""
    if label == "Plan":
        return PlanDetails(reader.plan(id_), tuple(ask_graph(reader, "plan_rounds", plan=id_)))
    if label == "Run":
        return _run(reader, id_)
    if label == "Task":
        return _task(reader, id_)
    if label == "Attempt":
        return attempt_timeline(reader, id_)
    raise UserError(f"{id_} is a {label}; a plan, run, task or attempt can be shown.")


def _run(reader: GraphReader, run_id: str) -> RunDetails:
    run = reader.run(run_id)
    loosened = loosened_assessments(reader, run.plan_id)
    return RunDetails(run, attempt_figures(reader, run_id), reader.spend(run_id=run_id), loosened)


def _task(reader: GraphReader, task_id: str) -> TaskDetails:
    plan_id = ask_first(reader, "place", id=task_id)["plan"]
    state = next(state for state in reader.tasks(plan_id) if state.task.id == task_id)
    attempts, spend = attempt_figures(reader, task_id), reader.spend(task_id=task_id)
    state = with_all_attempts(state, attempts)
    return TaskDetails(state, attempts, ask_first(reader, "task_diagnosis", task=task_id), spend)


def newest_subject(reader: GraphReader, repository_id: str) -> tuple[str, str] | None:
    """Label and id of what is told where nothing is named: the newest run when it completed everything, else its newest
    failure, else the run; without a run the newest plan. None where there is nothing."""
    run = ask_first(reader, "newest_run", repository=repository_id)
    if not run:
        plan_id = reader.newest_plan(repository_id)
        return ("Plan", plan_id) if plan_id else None
    failed = None if run["status"] == "completed" else newest_failure(reader, repository_id, run["run"])
    return ("Attempt", failed) if failed else ("Run", run["run"])


def trees_of(reader: GraphReader, label: str, id_: str) -> tuple[str, str]:
    """The tree or commit before and after. Raises UserError where there is no change to look at."""
    if label == "Run":
        run = reader.run(id_)
        return run.base_commit, run.head_commit
    attempt_id = _last_attempt(reader, id_) if label == "Task" else id_
    if label not in ("Task", "Attempt"):
        raise UserError(f"{id_} is a {label} and has no diff.", next_step="Name an attempt, a task or a run.")
    attempt = reader.attempt(attempt_id)
    if attempt.tree_before is None or attempt.tree_after is None:
        raise UserError(f"Attempt {attempt_id} has not ended, so it has no diff yet.")
    return attempt.tree_before, attempt.tree_after


def _last_attempt(reader: GraphReader, task_id: str) -> str:
    attempts = reader.history(task_id)
    if not attempts:
        raise UserError(f"Task {task_id} has had no attempt, so it has no diff.")
    return attempts[-1].id
