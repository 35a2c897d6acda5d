"""Runs, and who may execute which of their tasks until when. Instants are aware and UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from orchestrator.domain.lifecycle import RunStatus
from orchestrator.domain.task import Task

BRANCHES = "orchestrate/"
"""What the name of a run's branch begins with; the run's id follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution of a plan. `joined` is true when an open run was found instead of a new one made."""

    id: str
    plan_id: str
    status: RunStatus
    started_at: datetime
    parallelism: int
    settings_json: str
    branch: str
    base_commit: str
    head_commit: str
    sandbox_level: str
    version: str
    finished_at: datetime | None = None
    keys: tuple[str, ...] = ()
    """The tasks that it is about, where it is not about the whole plan."""
    joined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """Who wants a task of which run, and until when the lease holds without renewal. `keys` limits the choice."""

    run_id: str
    plan_id: str
    owner: str
    at: datetime
    lease_until: datetime
    keys: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claimed task: the lease is ours with `fence`, and the attempt's node exists with status running."""

    run_id: str
    task: Task
    attempt_id: str
    number: int
    fence: int
    owner: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """A running attempt whose lease expired or whose owner is known to be dead."""

    plan_id: str
    task_id: str
    task_key: str
    attempt_id: str
    owner: str
    fence: int
    started_at: datetime
    last_event_at: datetime
