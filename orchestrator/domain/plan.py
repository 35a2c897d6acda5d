"""Plans: what a goal became, against one repository at one base commit. Money is US dollars, durations milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from orchestrator.domain.lifecycle import PlanStatus, TaskStatus
from orchestrator.domain.task import Assessment, Task


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository that plans are made for; `id` is kept in its git directory and moves with it."""

    id: str
    path: str
    remote: str
    default_branch: str


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task with pre-flight's judgement; `status` is pending or rejected when the plan is stored."""

    task: Task
    assessment: Assessment
    status: TaskStatus = "pending"


@dataclass(frozen=True, slots=True)
class CheckNeeds:
    """What a verification command needs, as a person declares it: services beside it, the network. A `heavy` one that
    is run before a merge alone is measured before the work too."""

    command: str
    heavy: bool = False
    services: tuple[str, ...] = ()
    network: bool = False

    @property
    def told(self) -> str:
        """The needs in words."""
        heavy = ["run before the work too"] if self.heavy else []
        network = ["needs the network"] if self.network else []
        return "; ".join([*heavy, *network, *(f"needs {service}" for service in self.services)])


@dataclass(frozen=True, slots=True)
class Plan:
    """A DAG of tasks for one goal, against one repository at one base commit."""

    id: str
    repository: Repository
    goal: str
    status: PlanStatus
    base_commit: str
    created_at: datetime
    tasks: tuple[PlannedTask, ...] = ()
    verification: tuple[str, ...] = ()
    full_verification: tuple[str, ...] = ()
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    checks: tuple[CheckNeeds, ...] = ()

    @property
    def measured_before(self) -> tuple[str, ...]:
        """The commands that are measured before the work."""
        heavy = {needs.command for needs in self.checks if needs.heavy}
        return (*self.verification, *(command for command in self.full_verification if command in heavy))

    def commands_of(self, task: Task) -> tuple[str, ...]:
        """What an attempt at the task must pass: its own verification commands, then the plan's."""
        return tuple(dict.fromkeys((*task.verification, *self.verification)))


@dataclass(frozen=True, slots=True)
class PlanningRound:
    """One round of the PM, or QC's one turn about a task that ran out (`report`); its turns and calls hang on it by
    Owner("PlanningRound", id)."""

    id: str
    plan_id: str
    number: int
    purpose: Literal["plan", "budget", "scope", "report"] = "plan"
    prompt_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    duration_ms: float = 0.0
    defects: tuple[str, ...] = ()
