"""How an attempt ends, and the Conclusion that follows from it. Computed here, written elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from orchestrator.domain.attempt import AttemptResult, AttemptSummary, AttemptTotals, Decision
from orchestrator.domain.errors import OrchestrateError
from orchestrator.domain.finding import Finding
from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim
from orchestrator.engine.attempt.review import ReviewResult
from orchestrator.engine.attempt.verification import VerificationResult
from orchestrator.engine.loop.conversation import ConversationResult
from orchestrator.engine.loop.metering import halts
from orchestrator.engine.loop.totals import Totals
from orchestrator.gates.completion import Ended, RanOut, decide, diagnose, out_of_attempts


@dataclass(frozen=True, slots=True)
class Merged:
    """The commit that the run's head moves to, from `head_before`."""

    commit: str
    head_before: str


@dataclass(frozen=True, slots=True)
class End:
    """One way out of an attempt, with what the gates and QC said before it. `halt` is the error that ends the whole
    run with it, `trace` the traceback of a defect of ours."""

    status: AttemptStatus
    reason: str
    detail: str = ""
    passed: VerificationResult | None = None
    review: Review | None = None
    halt: OrchestrateError | None = None
    trace: str = ""

    @classmethod
    def interrupted(
        cls, detail: str, *, passed: VerificationResult | None = None, halt: OrchestrateError | None = None
    ) -> End:
        """Cut off through no fault of the task's: it goes on later."""
        return cls("interrupted", "interrupted", detail, passed, halt=halt)

    @classmethod
    def gate_failed(cls, passed: VerificationResult, review: Review | None = None) -> End:
        """Rejected for the findings of the gates."""
        return cls("rejected", "gate_failed", _blocking(passed.findings), passed, review)

    @classmethod
    def reviewed(cls, passed: VerificationResult, review: Review) -> End:
        """Accepted or rejected, as QC had it."""
        if review.passed:
            return cls("accepted", "accepted", "", passed, review)
        return cls("rejected", "review_failed", review.feedback or _blocking(review.findings), passed, review)

    @classmethod
    def unreviewed(cls, passed: VerificationResult, reviewed: ReviewResult) -> End:
        """There is no review that counts, and it was not the worker's doing."""
        if reviewed.bound is not None:  # nor QC's: under a higher bound it is asked again
            return cls.interrupted(reviewed.error, passed=passed, halt=reviewed.bound)
        if reviewed.model_error is not None:
            return cls("failed", "model_error", reviewed.error, passed, halt=reviewed.model_error)
        return cls("failed", "review_error", reviewed.error, passed)

    @classmethod
    def unfinished(cls, ending: ConversationResult) -> End:
        """The conversation ended without finish_task: stopped, given up, cut off, or the endpoint failed."""
        if ending.reason == "submitted":
            return cls("failed", "gave_up", str(ending.arguments.get("reason", "")))
        if ending.reason == "interrupted":
            return cls.interrupted(ending.detail)
        if ending.reason == "model_error":
            return cls("failed", "model_error", ending.detail, halt=ending.error)
        halt = halts(ending.stop)  # the run's own bound is not the task's fault: the work goes on under a higher one
        return cls("interrupted" if halt else "stopped", ending.reason, ending.detail, halt=halt)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an attempt, as far as it came. `stops`: how many of a task's attempts a bound may stop."""

    claim: Claim
    stops: int
    earlier: tuple[AttemptSummary, ...] = ()
    stage: int = 1
    tree: str | None = None
    worker_output: str = ""
    totals: Totals = field(default_factory=Totals)


def conclude(
    end: End, facts: Facts, *, at: datetime, duration_ms: float, merged: Merged | None = None
) -> AttemptResult:
    """What the end means for attempt and task; `merged` goes with an accepted one."""
    ended = Ended(facts.claim.number, end.status, end.reason, end.detail)
    ran_out = None if end.status == "accepted" else _ran_out(facts, ended)
    held = _held(end)
    return AttemptResult(
        attempt_status=end.status,
        stop_reason=end.reason,
        stop_detail=end.detail,
        task_status="completed" if end.status == "accepted" else "failed" if ran_out else "pending",
        task_stop_reason="completed" if end.status == "accepted" else ran_out.code if ran_out else None,
        at=at,
        duration_ms=duration_ms,
        totals=_totals(end, facts),
        worker_output=facts.worker_output,
        tree_after=facts.tree,
        findings=end.passed.findings if end.passed else (),
        review=end.review,
        decision=_decision(end, end.passed, held, facts.stage, at, ran_out) if end.passed else None,
        diagnosis=diagnose(ran_out, facts.earlier, ended, held, at) if ran_out else None,
        commit=merged.commit if merged else None,
        head_before=merged.head_before if merged else None,
        error_context={"traceback": end.trace} if end.trace else {},
    )


def _ran_out(facts: Facts, ended: Ended) -> RanOut | None:
    return out_of_attempts(facts.earlier, ended, max_attempts=facts.claim.task.max_attempts, stops=facts.stops)


def _held(end: End) -> tuple[Finding, ...]:
    """What stands against the work; a pass outweighs what its mode lets through."""
    raised = end.review.findings if end.review and not end.review.passed else ()
    return (*(end.passed.findings if end.passed else ()), *raised)


def _decision(
    end: End, passed: VerificationResult, held: tuple[Finding, ...], stage: int, at: datetime, ran_out: RanOut | None
) -> Decision:
    return decide(
        findings=held,
        reviewed=bool(end.review and end.review.passed),
        ran_out=ran_out is not None,
        check_id=passed.id,
        stage=stage,
        at=at,
        diff_hash=passed.tree,
    )


def _totals(end: End, facts: Facts) -> AttemptTotals:
    changes = end.passed.changes if end.passed else ()
    lines = sum(change.added + change.removed for change in changes)
    return facts.totals.of_attempt(files_changed=len(changes), lines_changed=lines)


def _blocking(findings: tuple[Finding, ...]) -> str:
    return " ".join(finding.message for finding in findings if finding.blocking)
