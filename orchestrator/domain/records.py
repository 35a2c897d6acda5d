"""Values that cross the graph port: plans, runs, claims, checks, reviews, conclusions.

Field names are the graph's property names in snake case (graph-model.md); the store maps one onto the other, so a field
here is a property there. Durations are milliseconds, money US dollars, instants aware and UTC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from orchestrator.domain.finding import Finding
from orchestrator.domain.lifecycle import AttemptStatus, PlanStatus, RunStatus, TaskStatus
from orchestrator.domain.task import Task

Band = Literal["simple", "moderate", "too_complex"]


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository that plans are made for; `id` is derived from its root path."""

    id: str
    path: str
    remote: str
    default_branch: str


@dataclass(frozen=True, slots=True)
class Assessment:
    """Pre-flight's arithmetic about one task (cli.md, Complexity). The six counts are the factors of the score."""

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
    recommendation: str = ""
    rejected_because: tuple[str, ...] = ()
    overridden: bool = False
    justification: str = ""


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task with pre-flight's judgement; `status` is pending or rejected when the plan is stored."""

    task: Task
    assessment: Assessment
    status: TaskStatus = "pending"


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
    format_version: int = 1


@dataclass(frozen=True, slots=True)
class PlanningRound:
    """One round of the PM; its turns and calls hang on it by Owner("PlanningRound", id)."""

    id: str
    plan_id: str
    number: int
    purpose: Literal["plan", "split", "budget", "scope"] = "plan"
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    duration_ms: float = 0.0
    defects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a plan. `joined` is true when an open run was found instead of a new one made."""

    id: str
    plan_id: str
    status: RunStatus
    started_at: datetime
    parallelism: int
    engine: str
    settings_json: str
    branch: str
    base_commit: str
    head_commit: str
    sandbox_level: str
    version: str
    finished_at: datetime | None = None
    joined: bool = False


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task with what has become of it so far. `attempts` counts all of this run's but interrupted ones."""

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


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """Who wants a task of which run, and until when the lease holds without renewal. `keys` limits the choice."""

    run_id: str
    plan_id: str
    owner: str
    at: datetime
    lease_until: datetime
    keys: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed task: the lease is ours with `fence`, and the attempt's node exists with status running."""

    run_id: str
    task: Task
    attempt_id: str
    number: int
    fence: int
    owner: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Orphan:
    """A running attempt whose lease expired or whose owner is known to be dead."""

    task_id: str
    task_key: str
    attempt_id: str
    owner: str
    fence: int
    started_at: datetime
    last_event_at: datetime


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose facts are recorded: an attempt, or its review, or a planning round. A write with a stale fence is
    refused; `attempt_id` is the fenced attempt of a review, and None for a planning round."""

    label: Literal["Attempt", "Review", "PlanningRound"]
    id: str
    attempt_id: str | None = None
    fence: int | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One verification command's outcome. `infrastructure` means that it could not give an answer (R4.16)."""

    id: str
    command: str
    exit_code: int | None
    outcome: Literal["passed", "failed", "infrastructure"]
    duration_ms: float
    output: str
    started_at: datetime
    phase: Literal["baseline", "verification", "review"]
    pass_id: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """One criterion as QC judged it; `passed` None means that it could not be judged."""

    group: Literal["security", "functionality", "code_quality", "other"]
    text: str
    passed: bool | None
    evidence: str


@dataclass(frozen=True, slots=True)
class Review:
    """QC's answer. `passed` is the rule's verdict over it (R2.5), not the model's claim alone."""

    id: str
    passed: bool | None
    score: int | None
    feedback: str
    strictness: Literal["strict", "normal", "lenient"]
    model: str
    content_hash: str
    prompt_tokens: int
    completion_tokens: int
    tool_call_count: int
    duration_ms: float
    at: datetime
    criteria: tuple[Criterion, ...] = ()
    findings: tuple[Finding, ...] = ()
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Computed from gates and review, never asked of a model."""

    decision: Literal["complete", "incomplete", "failed"]
    check_id: str
    reasons: tuple[str, ...]
    fingerprints: tuple[str, ...]
    stage: int
    pass_id: str
    at: datetime
    stall_count: int = 0
    failure_set_hash: str = ""
    diff_hash: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a task failed: the report of a task that ran out."""

    summary: str
    open_findings: tuple[str, ...]
    attempts: int
    tried: tuple[str, ...]
    actions: tuple[str, ...]
    at: datetime
    by_model: bool = False


@dataclass(frozen=True, slots=True)
class AttemptTotals:
    """What an attempt used, summed from its recorded turns and calls."""

    tool_call_count: int = 0
    turn_count: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    files_changed: int = 0
    lines_changed: int = 0


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Everything that ends an attempt, written as one transaction (graph-model.md, rule 2). The run's head moves by
    compare-and-set from `head_before` to `commit`; both are None unless the attempt is accepted. `task_status` pending
    means that another attempt may follow."""

    attempt_status: AttemptStatus
    stop_reason: str
    stop_detail: str
    task_status: TaskStatus
    task_stop_reason: str | None
    at: datetime
    duration_ms: float
    totals: AttemptTotals
    worker_output: str = ""
    tree_after: str | None = None
    findings: tuple[Finding, ...] = ()
    review: Review | None = None
    decision: Decision | None = None
    diagnosis: Diagnosis | None = None
    commit: str | None = None
    head_before: str | None = None
    error_context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AttemptSummary:
    """A past attempt as the next one's assignment, `show` and the scheduler need it."""

    id: str
    task_key: str
    run_id: str
    number: int
    status: AttemptStatus
    stage: int
    stop_reason: str | None
    stop_detail: str | None
    started_at: datetime
    last_event_at: datetime
    finished_at: datetime | None
    model: str
    tool_call_budget: int
    tree_before: str | None
    tree_after: str | None
    worker_output: str
    commit: str | None
    totals: AttemptTotals
    findings: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()
    follows: str | None = None
    limits_json: str = "{}"
    base_commit: str | None = None
    allowed_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spend:
    """What turns have cost so far; an unsettled turn counts with what it reserved. `usd` is None as soon as one
    turn's price is unknown."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class AttemptUse:
    """What one attempt has used so far, with its reviews and the PM's decisions; `worked_s` is its time without what it
    waited for rate limits. One that is `closed` uses nothing more."""

    attempt_id: str
    task_id: str
    closed: bool
    spend: Spend
    worked_s: float


@dataclass(frozen=True, slots=True)
class Table:
    """A query's answer: column names and rows of plain values (nodes and relationships as cli.md has them)."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
