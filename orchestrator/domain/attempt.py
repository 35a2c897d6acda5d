"""Attempts: whose facts are recorded, what the gates saw, and how it ended.

Field names are the graph's property names in snake case: the store maps one onto the other, so a field here is a
property there. Durations are milliseconds, money US dollars, instants aware and UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from orchestrator.domain.failure import ShownFailure, TestsSeen
from orchestrator.domain.finding import Finding
from orchestrator.domain.fix import Fix
from orchestrator.domain.lifecycle import AttemptStatus, TaskStatus
from orchestrator.domain.review import Review
from orchestrator.domain.usage import Usage
from orchestrator.domain.workspace import FileChange


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose facts are recorded: an attempt, or its review, or a planning round. A write with a stale fence is
    refused; `attempt_id` is the fenced attempt of a review, and None for a planning round and for a review of an
    attempt that is over."""

    label: Literal["Attempt", "Review", "PlanningRound"]
    id: str
    attempt_id: str | None = None
    fence: int | None = None


Strategy = Literal["first", "after_stop", "after_rejection"]
"""How an attempt begins: with nothing before it, at the run's head because the one before was stopped or gave up, or
with the work that was rejected."""


CheckPhase = Literal["verification", "merge", "baseline", "review", "fixer"]
"""What a command is run over: the work that was handed in, its merge with the run's head, what was there before; or
because QC cites it, over what QC saw: then it may fail as QC says that it does; or rejected work that a fixer is to
mend: the fixer itself, and the checks that show what it has mended."""


CheckOutcome = Literal["passed", "failed", "infrastructure"]


@dataclass(frozen=True, slots=True)
class Check:
    """One verification command's outcome over `tree`. `infrastructure` means that it could not give an answer.
    `reused_from` is the id of the check that ran, where this one did not: the same command had passed over the same
    tree, and what follows is that check's, but for `phase`, `pass_id`, `started_at` and a duration of 0. `failures` are
    what it showed, `tests` those that its tool told of (None: it tells none, or they were not kept). `as_before` says
    that it failed, and in no way in which it did not fail over the commit under the work."""

    id: str
    command: str
    exit_code: int | None
    outcome: CheckOutcome
    duration_ms: float
    output: str
    started_at: datetime
    phase: CheckPhase
    pass_id: str
    tree: str | None = None
    reused_from: str | None = None
    failures: tuple[ShownFailure, ...] = ()
    tests: TestsSeen | None = None
    as_before: bool = False


Trend = Literal[
    "first", "progress", "peeling", "changed", "persistent", "regressed", "stalled", "no_change", "oscillating"
]
"""How a rejected check pass stands to those before it: a part of the last one's failures, only others, some others,
some others while one stays and nothing becomes better for long, more of them, the same ones, over the same work, or
what had been there before and had gone."""


AttemptOutcome = Literal["resolved", "progress", "no_change", "regressed", "rejected", "error"]
"""What an attempt came to, by what the check passes before and after it found: nothing blocks any more; less blocks;
as much; more, or what had gone; the change itself is refused, or was the first; it came to no check pass."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Computed from gates and review, never asked of a model. `counts` says how often each of the `fingerprints` was
    there. `stage` and `stall_count` are the task's behind this pass, with which its next attempt begins;
    `check_passes`, `fixes` and `reviews` are what it has used up to here (None: an older release). One of the `phase`
    merge is about the checks over a merged tree alone, which is its `diff_hash`; an attempt's other one is about all
    that was found, over the merge too."""

    decision: Literal["complete", "incomplete", "failed"]
    check_id: str
    reasons: tuple[str, ...]
    fingerprints: tuple[str, ...]
    stage: int
    pass_id: str
    at: datetime
    failure_set_hash: str = ""
    diff_hash: str = ""
    counts: tuple[int, ...] = ()
    stall_count: int = 0
    trend: Trend | None = None
    check_passes: int | None = None
    fixes: int | None = None
    reviews: int | None = None
    phase: CheckPhase = "verification"


@dataclass(frozen=True, slots=True)
class FailureReport:
    """Why a task failed: the report of a task that ran out. `by_model` says that QC's model has added to it."""

    summary: str
    open_findings: tuple[str, ...]
    attempts: int
    tried: tuple[str, ...]
    actions: tuple[str, ...]
    at: datetime
    by_model: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationResult:
    """What the deterministic gates saw and said in one check pass over `tree`. `unanswered` are checks that gave no
    answer, twice; `merge` is what was decided over the merged tree, if that was checked."""

    id: str
    tree: str
    changes: tuple[FileChange, ...] = ()
    checks: tuple[Check, ...] = ()
    findings: tuple[Finding, ...] = ()
    unanswered: tuple[Check, ...] = ()
    merge: Decision | None = None

    @property
    def blocking(self) -> bool:
        """Whether QC need not be asked."""
        return any(finding.blocking for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """Everything that ends an attempt, written as one transaction. The run's head moves by compare-and-set from
    `head_before` to `commit`; both are None unless the attempt is accepted. `task_status` pending means that another
    attempt may follow."""

    attempt_status: AttemptStatus
    stop_reason: str
    stop_detail: str
    task_status: TaskStatus
    task_stop_reason: str | None
    at: datetime
    duration_ms: float
    usage: Usage
    files_changed: int = 0
    lines_changed: int = 0
    worker_output: str = ""
    tree_after: str | None = None
    outcome: AttemptOutcome | None = None
    findings: tuple[Finding, ...] = ()
    fixes: tuple[Fix, ...] = ()
    review: Review | None = None
    decision: Decision | None = None
    merge_decision: Decision | None = None
    diagnosis: FailureReport | None = None
    commit: str | None = None
    head_before: str | None = None
    issues: tuple[str, ...] = ()
    required_fixes: tuple[str, ...] = ()
    error_context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
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
    usage: Usage
    findings: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()
    follows: str | None = None
    limits_json: str = "{}"
    base_commit: str | None = None
    allowed_paths: tuple[str, ...] = ()
    decision: Decision | None = None
    merge_decision: Decision | None = None
    strategy: Strategy | None = None
    """How it began (None: an older release told that by stage 2 where the one before was stopped)."""
    prompt_hash: str | None = None
    """The task's words as this attempt was told them (None: an older release recorded none)."""
    outcome: AttemptOutcome | None = None
    """What it came to (None: it has not ended, or an older release recorded none)."""
    qc_passed: bool | None = None
    reviews: int = 0
    """How often QC was asked about it."""

    @property
    def passes(self) -> frozenset[str]:
        """The ids of the check passes over what it handed in."""
        ran = {check.pass_id for check in self.checks if check.phase == "verification"}
        return frozenset(ran | ({self.decision.pass_id} if self.decision else set()))
