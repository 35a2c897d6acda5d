"""Which bounds a person's plan file sets wider than their defaults, so that every screen can say so."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from orchestrator.domain.task import Assessment, TaskKind
from orchestrator.planning.exit_status import always_succeeds
from orchestrator.planning.path_width import is_wide
from orchestrator.planning.plan_file import TaskFile

_SIZES = ("max_attempts", "max_changed_files", "max_changed_lines")


def loosened_bounds(
    task: TaskFile, assessment: Assessment, kind: TaskKind, usual: int, repository_files: Collection[str]
) -> Iterator[str]:
    """One phrase for each: a budget above the kind's `usual` one, attempts and sizes above their defaults, a lenient
    review, paths beyond the folders of the written files, commands that always succeed, a kind above moderate, what was
    overridden."""
    if task.tool_call_budget is not None and task.tool_call_budget > usual:
        yield f"tool_call_budget is {task.tool_call_budget:,}, a {kind} task's is {usual:,}"
    yield from _loosened_values(task)
    for pattern in task.allowed_paths or ():
        if is_wide(pattern, task.files_written, repository_files):
            yield f"allowed_paths holds {pattern!r}, wider than the folders of files_written"
    for command in task.verification:
        if always_succeeds(command):
            yield f"verification holds {command!r}, which always succeeds"
    if task.kind in ("complex", "research"):
        yield f"kind is {task.kind}, above moderate"
    if assessment.overridden:
        yield from (f"overridden: {reason}" for reason in assessment.rejected_because)


def _loosened_values(task: TaskFile) -> Iterator[str]:
    for name in _SIZES:
        value, default = getattr(task, name), TaskFile.model_fields[name].default
        if value > default:
            yield f"{name} is {value:,}, the default is {default:,}"
    if task.strictness == "lenient":
        yield "strictness is lenient, the default is normal"
