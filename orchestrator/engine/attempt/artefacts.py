"""The documents about a task, written when an attempt has ended, and by the next process where one could not."""

from __future__ import annotations

from orchestrator.domain.attempt import AttemptSummary
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.task import Task
from orchestrator.domain.workspace import FileChange
from orchestrator.engine.services import Services
from orchestrator.gates.artefacts import task_artefacts


def write_artefacts_of(services: Services, task: Task, baseline: Baseline | None) -> None:
    """Draw them from what is recorded of the task's attempts, and the baseline of the last one where it came so far."""
    attempts = services.reader.history(task.id)
    documents = task_artefacts(task, attempts, _changes(services, attempts[-1]), baseline)
    services.writer.write_artefacts(task.id, documents)


def _changes(services: Services, attempt: AttemptSummary) -> tuple[FileChange, ...]:
    """The whole work of an attempt; nothing where it began none."""
    if attempt.base_commit is None or attempt.tree_after is None:
        return ()
    workspaces = services.workspaces
    return workspaces.changes(workspaces.tree_of(attempt.base_commit), attempt.tree_after)
