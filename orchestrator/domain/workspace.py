"""What a workspace answers: the end of a command, what differs between two states, a merge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Literal

from orchestrator.domain.events import FileWrite

EndedBy = Literal["exited", "timeout", "idle", "memory", "output", "signal", "not_started"]
"""How a command ended: by itself, or by which bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """A sandboxed command's end. `output` is stdout and stderr as they came, decoded, whole up to the output limit.
    `exit_code` is None unless it exited. `reports` are the files that it left for us by their names, if they were asked
    for."""

    command: str
    ended: EndedBy
    exit_code: int | None
    output: str
    duration_ms: float
    started_at: datetime
    detail: str = ""
    reports: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AbsentFile:
    """A file of the user's checkout that git ignores and that a tracked file needs, so that checks of the very base
    fail where it is not; `way_out` is what to set."""

    path: str
    needed_by: str
    way_out: str

    def __str__(self) -> str:
        return f"{self.path} is ignored by git and {self.needed_by} needs it, so commands miss it. {self.way_out}"


ChangeStatus = Literal["added", "modified", "deleted"]
EntryKind = Literal["file", "executable", "symlink", "gitlink"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange(FileWrite):
    """One path that differs between two trees (renames are a deletion and an addition), with what is known of it beside
    what was written. `kind` is from the tree entry, `size` in bytes of what is there now."""

    status: ChangeStatus
    kind: EntryKind
    binary: bool = False
    was_binary: bool = False
    size: int = 0
    link_target: str = ""


@dataclass(frozen=True, slots=True)
class MergeCommit:
    """The outcome of merging a task's tree into the run's head: a commit, or the paths in conflict."""

    commit: str | None
    conflicts: tuple[str, ...] = ()
    detail: str = ""


MOST_WRITES = 500
"""Files of one call that are recorded one by one: one that unpacks or makes thousands says nothing more by each."""


def writes_of(changes: Iterable[FileChange]) -> tuple[FileWrite, ...]:
    """The changes between two trees as an event tells them, at most MOST_WRITES: what was there before first."""
    names = [field.name for field in fields(FileWrite)]
    told = sorted(changes, key=lambda change: change.status == "added")[:MOST_WRITES]
    return tuple(FileWrite(**{name: getattr(change, name) for name in names}) for change in told)
