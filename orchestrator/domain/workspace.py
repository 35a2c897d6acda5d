"""What a workspace answers: the end of a command, what differs between two states, a merge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from orchestrator.domain.events import FileWrite

EndedBy = Literal["exited", "timeout", "idle", "memory", "output", "signal", "not_started"]
"""How a command ended: by itself, or by which bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """A sandboxed command's end. `output` is stdout and stderr as they came, decoded, whole up to the output limit.
    `exit_code` is None unless it exited."""

    command: str
    ended: EndedBy
    exit_code: int | None
    output: str
    duration_ms: float
    started_at: datetime
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One path that differs between two trees (renames are a deletion and an addition). `blob` is its new id ("" when
    deleted), `before` the old one ("" when added). `kind` is from the tree entry: file, executable, symlink or gitlink.
    """

    path: str
    status: Literal["added", "modified", "deleted"]
    added: int
    removed: int
    blob: str
    kind: Literal["file", "executable", "symlink", "gitlink"]
    substantive: bool
    binary: bool = False
    link_target: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class MergeCommit:
    """The outcome of merging a task's tree into the run's head: a commit, or the paths in conflict."""

    commit: str | None
    conflicts: tuple[str, ...] = ()
    detail: str = ""


def writes_of(changes: Iterable[FileChange]) -> tuple[FileWrite, ...]:
    """The changes between two trees as an event tells them."""
    return tuple(
        FileWrite(
            path=change.path,
            added=change.added,
            removed=change.removed,
            blob=change.blob,
            substantive=change.substantive,
            before=change.before,
        )
        for change in changes
    )
