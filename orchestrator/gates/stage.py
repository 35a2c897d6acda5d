"""What an attempt is held to whose task's stage has risen: a part of the diff budget, in files that are known."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from orchestrator.domain.finding import Finding
from orchestrator.domain.globs import allows, literal
from orchestrator.domain.task import Task
from orchestrator.domain.workspace import FileChange
from orchestrator.gates.convergence_limits import StageLimits
from orchestrator.gates.finding import make_finding


def stage_paths(
    task: Task, allowed_paths: tuple[str, ...], earlier: Iterable[FileChange], limits: StageLimits | None
) -> tuple[str, ...]:
    """Of the allowed paths those that the task declares, that were granted to it, or that its earlier attempts have
    changed; all where nothing is known of these, so that there is a way out."""
    if limits is None or not limits.touched_only:
        return allowed_paths
    granted = [path for path in allowed_paths if path not in task.allowed_paths]
    touched = [literal(change.path) for change in earlier if _allowed(change, allowed_paths)]
    return tuple(dict.fromkeys((*task.files_written, *granted, *touched))) or allowed_paths


def outside(changes: Iterable[FileChange], allowed_paths: tuple[str, ...]) -> tuple[str, ...]:
    """The paths of changes that an attempt was not allowed."""
    return tuple(change.path for change in changes if not _allowed(change, allowed_paths))


def put_back(paths: Collection[str]) -> tuple[Finding, ...]:
    """What was changed elsewhere and is not in the work any more: told, and no reason to reject the rest."""
    if not paths:
        return ()
    shown = ", ".join(sorted(paths)[:10]) + (", …" if len(paths) > 10 else "")
    message = f"Put back, because this attempt was held to files that are known: {shown}."
    fix = "Change only the allowed paths, or ask for another with request_scope."
    return (make_finding("scope", "put_back", shown, message, fix, severity="warning"),)


def most_changed(task: Task, limits: StageLimits) -> tuple[int, int]:
    """How many files and how many lines one attempt may change beside what it began with."""
    return _share(task.max_changed_files, limits), _share(task.max_changed_lines, limits)


def judge_own_size(own: Collection[FileChange], task: Task, limits: StageLimits, stage: int) -> tuple[Finding, ...]:
    """The part of the diff budget that one attempt may use up."""
    files, lines = most_changed(task, limits)
    changed = sum(change.added + change.removed for change in own)
    return tuple(
        make_finding(
            "diff_budget",
            "diff_budget",
            f"{what} of one attempt",
            f"At stage {stage} this attempt changed {observed} {what}, limit {limit}.",
            f"Change at most {limit} {what} beside what the attempt begins with.",
        )
        for what, observed, limit in (("files", len(own), files), ("lines", changed, lines))
        if observed > limit
    )


def _allowed(change: FileChange, allowed_paths: tuple[str, ...]) -> bool:
    return allows(change.path, allowed_paths, existed=change.status != "added")


def _share(most: int, limits: StageLimits) -> int:
    return max(int(most * limits.diff_share), 1)
