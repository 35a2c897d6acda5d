"""Tasks: the smallest unit that a worker executes and QC reviews, what pre-flight said of it, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.domain.lifecycle import TaskStatus

TaskKind = Literal["simple", "moderate", "complex", "research"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The smallest unit that a worker executes and QC reviews. Paths and globs are from the git top level."""

    id: str
    plan_id: str
    key: str
    title: str
    prompt: str
    kind: TaskKind
    role: str
    qc_role: str
    tool_call_budget: int
    max_attempts: int
    acceptance_criteria: tuple[str, ...] = ()
    edge_cases: tuple[str, ...] = ()
    verification: tuple[str, ...] = ()
    verification_criteria: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    allowed_paths: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    files_written: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    max_changed_files: int = 10
    max_changed_lines: int = 400
    model: str | None = None

    @property
    def most_granted_calls(self) -> int:
        """Tool calls that an attempt may be granted beside its budget, once."""
        return max(self.tool_call_budget // 2, 1)

    @property
    def criteria(self) -> tuple[str, ...]:
        """Everything that a review judges: acceptance criteria, edge cases, verification criteria."""
        groups = (text for texts in self.verification_criteria.values() for text in texts)
        return (*self.acceptance_criteria, *self.edge_cases, *groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """A task with what has become of it so far. As the store has it, calls and time are the latest attempt's; a
    PlanOverview has those of all attempts."""

    task: Task
    status: TaskStatus
    attempt_number: int
    stop_reason: str | None
    assessment: Assessment | None
    qc_score: int | None = None
    tool_call_count: int | None = None
    duration_ms: float | None = None
    blocked_by: str | None = None
    lease_owner: str | None = None


Band = Literal["simple", "moderate", "too_complex"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """Pre-flight's arithmetic about one task. The seven counts are the factors of the score; `loosened` says which
    bounds a person's file set wider than their defaults, one phrase each, and `justification` why."""

    score: int
    band: Band
    estimated_tool_calls: int
    files_written: int
    files_read: int
    acceptance_criteria: int
    edge_cases: int
    dependencies: int
    verification_commands: int
    threshold: int
    verification_criteria: int = 0
    recommendation: str = ""
    rejected_because: tuple[str, ...] = ()
    overridden: bool = False
    justification: str = ""
    loosened: tuple[str, ...] = ()
