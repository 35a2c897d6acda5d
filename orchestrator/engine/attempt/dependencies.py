"""What a task's completed dependencies left: told to its worker and to QC."""

from __future__ import annotations

from orchestrator.domain.assignment import DependencyResult
from orchestrator.domain.attempt import AttemptSummary
from orchestrator.domain.plan import Plan
from orchestrator.domain.ports import Workspace
from orchestrator.domain.task import Task
from orchestrator.engine.services import Services


def dependency_results(
    services: Services, task: Task, plan: Plan, workspace: Workspace
) -> tuple[DependencyResult, ...]:
    """Summary, files and diff of the accepted attempt of each dependency, in the order in which they are named."""
    by_key = {planned.task.key: planned.task for planned in plan.tasks}
    return tuple(_result(services, by_key[key], workspace) for key in task.depends_on if key in by_key)


def _result(services: Services, task: Task, workspace: Workspace) -> DependencyResult:
    accepted = next((a for a in reversed(services.reader.history(task.id)) if a.status == "accepted"), None)
    if accepted is None or accepted.commit is None:
        return DependencyResult(task.key, task.title, accepted.worker_output if accepted else "", (), "")
    return _of_commit(services, task, accepted, accepted.commit, workspace)


def _of_commit(
    services: Services, task: Task, accepted: AttemptSummary, commit: str, workspace: Workspace
) -> DependencyResult:
    before, after = services.workspaces.tree_of(f"{commit}^"), services.workspaces.tree_of(commit)
    files = tuple(change.path for change in workspace.changes(before, after))
    return DependencyResult(task.key, task.title, accepted.worker_output, files, workspace.diff(before, after))
