"""What a role is told at the start of its conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from orchestrator.domain.attempt import AttemptSummary, Check, FailureReport
from orchestrator.domain.finding import Finding
from orchestrator.domain.lives import Course
from orchestrator.domain.review import Strictness
from orchestrator.domain.task import Task


@dataclass(frozen=True, slots=True)
class DependencyResult:
    """What a completed dependency left: its summary, files and diff."""

    key: str
    title: str
    summary: str
    files: tuple[str, ...]
    diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedCall:
    """What an attempt did over and over: the newest of `times` calls that were alike, and the first line of its
    result."""

    tool: str
    arguments: str
    result: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageNotice:
    """What a worker is told whose task's stage has risen: how many attempts were rejected, what fails and why, the
    newest alone, and how many files and lines it may change beside what it begins with."""

    stage: int
    passes: int
    max_files: int
    max_lines: int
    failures: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What a worker is told at the start of an attempt; `surroundings` are the sandbox's, in sentences."""

    goal: str
    task: Task
    number: int
    budget: int
    allowed_paths: tuple[str, ...]
    verification: tuple[str, ...]
    dependencies: tuple[DependencyResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    failed_checks: tuple[Check, ...] = ()
    previous: AttemptSummary | None = None
    repeated: tuple[RepeatedCall, ...] = ()
    notice: StageNotice | None = None
    course: Course | None = None
    fixers: tuple[str, ...] = ()
    progress_every: int = 25
    surroundings: tuple[str, ...] = ()
    known_failures: tuple[str, ...] = ()
    """What fails at the commit under the work, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewAssignment:
    """What QC is told: the task, the whole diff and the executed checks, beside the worker's own summary. `number` is
    the attempt's; `wanting` is what the answer lacked that it gave when it was asked before."""

    goal: str
    task: Task
    worker_output: str
    diff: str
    checks: tuple[Check, ...]
    dependencies: tuple[DependencyResult, ...]
    strictness: Strictness
    budget: int
    number: int = 1
    wanting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureBrief:
    """What QC's model is told of a task that ran out: the task, and the report that was drawn from what is recorded."""

    task: Task
    report: FailureReport


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningAssignment:
    """What the PM is told: the goal, what the repository holds, how it is verified and what of that fails before any
    work, and in later rounds the plan with its defects."""

    goal: str
    repository_files: tuple[str, ...]
    round: int
    previous_plan: Mapping[str, Any] = field(default_factory=dict)
    defects: tuple[str, ...] = ()
    budget: int = 40
    verification: tuple[str, ...] = ()
    known_failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRequest:
    """request_budget or request_scope, as the PM is asked to decide it in one bounded call."""

    kind: Literal["calls", "scope"]
    task: Task
    justification: str
    additional: int
    paths: tuple[str, ...]
    calls_used: int
    budget: int
    files_changed: tuple[str, ...]
    recent_calls: tuple[str, ...]
    most: int
