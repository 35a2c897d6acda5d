"""How an attempt ends: the one way out, and what it means for the attempt and its task. Computed here, written by the
attempt's record."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from orchestrator.domain.attempt import AttemptResult, AttemptSummary, Decision, VerificationResult
from orchestrator.domain.errors import DiskFullError, ModelError, OrchestrateError, UserError, WorkspaceError
from orchestrator.domain.finding import Finding
from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.next_commands import next_commands
from orchestrator.domain.review import Review
from orchestrator.domain.stop_reasons import next_step
from orchestrator.domain.task import Task
from orchestrator.domain.usage import Usage
from orchestrator.domain.verdict import Stop
from orchestrator.domain.workspace import FileChange
from orchestrator.engine.attempt.motion import motion_of
from orchestrator.engine.loop.metering import halts
from orchestrator.gates.artefacts import completion_reasons
from orchestrator.gates.completion import decide
from orchestrator.gates.convergence import Convergence
from orchestrator.gates.end_report import error_report, open_issues
from orchestrator.gates.failure_report import failure_report
from orchestrator.gates.objections import Objection, repeated_objection
from orchestrator.gates.progress import Effort
from orchestrator.gates.retry import RetryPolicy

if TYPE_CHECKING:
    from orchestrator.engine.loop.conversation import ConversationResult


_NO_EFFORT = Effort()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnd:
    """One way out of an attempt, with what the gates and QC said before it; `raised_before` is what QC raised in an
    answer before the `review`, where neither is a verdict. `stop` is the guard's word that ended it, `first_seq` where
    what the guard saw began; `effort` is what the task has used with it, `changes` are its own; `halt` is the error
    that ends the whole run with it, `trace` the traceback of a defect of ours."""

    status: AttemptStatus
    stop_reason: str
    stop_detail: str = ""
    verified: VerificationResult | None = None
    review: Review | None = None
    raised_before: tuple[Finding, ...] = ()
    stop: Stop | None = None
    first_seq: int | None = None
    halt: OrchestrateError | None = None
    trace: str = ""
    number: int = 0
    effort: Effort = _NO_EFFORT
    changes: tuple[FileChange, ...] = ()

    @classmethod
    def interrupted(
        cls, detail: str, *, verified: VerificationResult | None = None, halt: OrchestrateError | None = None
    ) -> AttemptEnd:
        """Cut off through no fault of the task's: it goes on later."""
        return cls(status="interrupted", stop_reason="interrupted", stop_detail=detail, verified=verified, halt=halt)

    @classmethod
    def failed(
        cls,
        reason: str,
        detail: str,
        *,
        verified: VerificationResult | None = None,
        halt: OrchestrateError | None = None,
        trace: str = "",
    ) -> AttemptEnd:
        """Gave up, or failed by our own or the endpoint's fault."""
        return cls(status="failed", stop_reason=reason, stop_detail=detail, verified=verified, halt=halt, trace=trace)

    @classmethod
    def gate_failed(cls, verified: VerificationResult, review: Review | None = None) -> AttemptEnd:
        """Rejected for the findings of the gates."""
        told = _blocking(verified.findings)
        return cls(status="rejected", stop_reason="gate_failed", stop_detail=told, verified=verified, review=review)

    @classmethod
    def reviewed(cls, verified: VerificationResult, review: Review) -> AttemptEnd:
        """Accepted or rejected, as QC had it."""
        if review.passed:
            return cls(status="accepted", stop_reason="accepted", verified=verified, review=review)
        told = review.feedback or _blocking(review.findings)
        return cls(status="rejected", stop_reason="review_failed", stop_detail=told, verified=verified, review=review)

    @classmethod
    def of_conversation(cls, ended: ConversationResult) -> AttemptEnd:
        """The worker's part ended without finish_task: stopped, given up, cut off, or the endpoint failed."""
        if ended.reason == "submitted":
            return cls.failed("gave_up", str(ended.arguments.get("reason", "")))
        if ended.reason == "interrupted":
            return cls.interrupted(ended.detail)
        if ended.reason == "model_error":
            return cls.failed("model_error", ended.detail, halt=ended.error)
        return cls._stopped(ended.reason, ended.detail, ended.stop)

    @classmethod
    def of_stop(cls, stop: Stop) -> AttemptEnd:
        """A bound of time was reached behind the conversation, while checks ran."""
        return cls._stopped(stop.code, stop.message, stop)

    @classmethod
    def _stopped(cls, reason: str, detail: str, stop: Stop | None) -> AttemptEnd:
        halt = halts(stop)  # the run's own bound is not the task's fault: the work goes on under a higher one
        status: AttemptStatus = "interrupted" if halt else "stopped"
        return cls(status=status, stop_reason=reason, stop_detail=detail, stop=stop, halt=halt)

    @classmethod
    def of_error(cls, error: Exception) -> AttemptEnd:
        """What an error means for the attempt that it ends."""
        if isinstance(error, AttemptEnded):
            return error.end
        if isinstance(error, DiskFullError):  # the run's trouble, and no task's fault
            return cls.interrupted(str(error), halt=error)
        if isinstance(error, UserError):  # no sandbox to be had, for example: nobody has tried the work
            return cls.interrupted(str(error), halt=error)
        if isinstance(error, WorkspaceError):
            return cls.failed("workspace_error", str(error))
        if isinstance(error, ModelError):
            return cls.failed("model_error", str(error), halt=error)
        detail = f"{type(error).__name__}: {error}"  # ours: closed with its traceback in the graph, and raised on
        return cls.failed("workspace_error", detail, trace=traceback.format_exc())


class AttemptEnded(Exception):  # noqa: N818 - no error: the one way out of an attempt before its work is accepted
    """Carries the end from wherever it comes to the attempt's record."""

    def __init__(self, end: AttemptEnd) -> None:
        super().__init__(end.stop_reason)
        self.end = end


_MOST_TOLD = 5
_NO_CHECK_PASS = VerificationResult(id="", tree="")


def attempt_result(
    end: AttemptEnd,
    *,
    task: Task,
    policy: RetryPolicy,
    earlier: tuple[AttemptSummary, ...],
    converged: Convergence,
    tree: str | None,
    worker_output: str,
    usage: Usage,
    at: datetime,
    duration_ms: float,
    commit: str | None = None,
    head_before: str | None = None,
) -> AttemptResult:
    """What the end means for a task that stood at `converged`; `commit` and `head_before` go with an accepted one."""
    accepted, verified, held = end.status == "accepted", end.verified or _NO_CHECK_PASS, _held(end)
    motion = motion_of(end, held, earlier, converged, policy.convergence)
    exhausted = None if accepted else policy.exhausted((*earlier, end), motion.converged, _objection(end, earlier))
    result = AttemptResult(
        attempt_status=end.status,
        stop_reason=end.stop_reason,
        stop_detail=end.stop_detail,
        task_status="completed" if accepted else "failed" if exhausted else "pending",
        task_stop_reason="completed" if accepted else exhausted.code if exhausted else None,
        at=at,
        duration_ms=duration_ms,
        usage=usage,
        files_changed=len(verified.changes),
        lines_changed=sum(change.added + change.removed for change in verified.changes),
        worker_output=worker_output,
        tree_after=tree,
        review=end.review,
        decision=_decision(end, held, exhausted is not None, motion.converged, at),
        merge_decision=verified.merge,
        diagnosis=failure_report(exhausted, earlier, end, held, at) if exhausted else None,
        commit=commit,
        head_before=head_before,
    )
    return _with_reasons(motion.told_in(result), end, task)


def _objection(end: AttemptEnd, earlier: Sequence[AttemptSummary]) -> Objection | None:
    """What QC has rejected the work for too often, in this attempt too."""
    if end.status != "rejected" or end.review is None:
        return None
    before = [attempt.findings for attempt in earlier if attempt.status == "rejected"]
    return repeated_objection([*before, end.review.findings], end.review.model)


def _with_reasons(result: AttemptResult, end: AttemptEnd, task: Task) -> AttemptResult:
    """With what stands against the work. The advice is that of the task's end, of the error that halts the run, or of
    the taxonomy of ends; the commands know the task by its id, which holds when another plan is the newest one."""
    halted = end.halt.next_step if end.halt else ""
    issues, fixes = open_issues(end.stop_reason, end.stop_detail, _found(end), halted)
    told = replace(result, issues=issues, required_fixes=fixes)
    if end.status == "accepted":
        return told
    advice = result.diagnosis.actions if result.diagnosis else (halted or next_step(end.stop_reason),)
    commands = next_commands(
        end.stop_reason,
        result.task_status,
        plan=task.plan_id,
        task=task.id,
        budget=task.tool_call_budget,
        task_code=result.task_stop_reason,
    )
    report = error_report(
        reason=end.stop_reason,
        detail=end.stop_detail,
        issues=issues,
        required_fixes=fixes,
        advice=advice,
        commands=commands,
        feedback=end.review.feedback if end.review else None,
        checks=end.verified.checks if end.verified else (),
        stop=end.stop,
        first_seq=end.first_seq,
        trace=end.trace,
        completion=completion_reasons(told.decision, _held(end)) if told.decision else None,
    )
    return replace(told, error_context=report)


def _decision(
    end: AttemptEnd,
    held: tuple[Finding, ...],
    exhausted: bool,
    converged: Convergence,
    at: datetime,
) -> Decision | None:
    """None for an attempt that came to no check pass."""
    if end.verified is None:
        return None
    passed = bool(end.review and end.review.passed)
    return decide(
        findings=held,
        reviewed=passed,
        exhausted=exhausted,
        verified=end.verified,
        converged=converged,
        effort=end.effort,
        at=at,
    )


def _found(end: AttemptEnd) -> tuple[Finding, ...]:
    """Everything that gates and QC said, what does not block too."""
    gates, review = end.verified.findings if end.verified else (), end.review.findings if end.review else ()
    return (*gates, *end.raised_before, *review)


def _held(end: AttemptEnd) -> tuple[Finding, ...]:
    """What stands against the work; a pass outweighs what its mode lets through."""
    return (end.verified.findings if end.verified else ()) if end.review and end.review.passed else _found(end)


def _blocking(findings: tuple[Finding, ...]) -> str:
    """The first of them in one text, and how many more there are: the findings themselves stand beside it."""
    told = [finding.message for finding in findings if finding.blocking]
    more = [f"And {len(told) - _MOST_TOLD} more."] if len(told) > _MOST_TOLD else []
    return " ".join(told[:_MOST_TOLD] + more)
