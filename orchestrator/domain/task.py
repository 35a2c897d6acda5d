"""Tasks: the smallest unit that a worker executes and QC reviews, what pre-flight said of it, and how it stands."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from orchestrator.domain.lifecycle import TaskStatus
from orchestrator.domain.review import Strictness

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
    strictness: Strictness | None = None
    """How QC's reviews of it are judged (None: as the settings say)."""
    note: str = ""
    """What a person added when it was retried: told to every attempt since."""
    retried_after: int = 0
    """The number of the last attempt before it was retried: what ended until then counts against nothing any more."""
    from_tree: str | None = None
    """The git tree that the first attempt after a retry begins with, and under it the commit `from_base`."""
    from_base: str | None = None

    @property
    def words_hash(self) -> str:
        """What the worker is told to do and judged by, as one hash: an attempt over the same words is the same attempt
        again."""
        words = [self.title, self.prompt, self.criteria, self.verification, self.note]
        return hashlib.sha256(json.dumps(words, ensure_ascii=False).encode()).hexdigest()[:32]

    @property
    def paths(self) -> tuple[str, ...]:
        """What it may change and what it declares to write, as a person planned it."""
        return (*self.allowed_paths, *self.files_written)

    @property
    def most_granted_calls(self) -> int:
        """Tool calls that an attempt may be granted beside its budget, once."""
        return max(self.tool_call_budget // 2, 1)

    @property
    def criteria(self) -> tuple[str, ...]:
        """Everything that a review judges: acceptance criteria, edge cases, verification criteria."""
        groups = (text for texts in self.verification_criteria.values() for text in texts)
        return (*self.acceptance_criteria, *self.edge_cases, *groups)

    @property
    def read_criteria(self) -> frozenset[str]:
        """Those of them that are judged by reading alone: what must be so is not always something to be run or quoted,
        as that a secret is written nowhere."""
        return frozenset(self.criteria).difference(self.acceptance_criteria, self.edge_cases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A person has a task tried again, with a note or another budget, model or beginning (None: as it was). `at` is
    aware and UTC."""

    id: str
    task_id: str
    task_key: str
    at: datetime
    note: str | None = None
    tool_call_budget: int | None = None
    model: str | None = None
    from_tree: str | None = None
    from_base: str | None = None
    review_id: str | None = None
    """The review that a completed task is opened again for."""


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
