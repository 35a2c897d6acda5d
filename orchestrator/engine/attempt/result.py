"""How an attempt ends: the one way out, and the record that closes the attempt's node whatever happens."""

from __future__ import annotations

import json
import traceback
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING

from orchestrator.domain.attempt import AttemptResult, AttemptSummary, VerificationResult
from orchestrator.domain.errors import (
    DiskFullError,
    GraphError,
    ModelError,
    OrchestrateError,
    StaleFenceError,
    WorkspaceError,
)
from orchestrator.domain.finding import Finding
from orchestrator.domain.lifecycle import TASK_ENDED, AttemptStatus
from orchestrator.domain.progress import AttemptFinished, TaskClaimed, TaskEnded
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim
from orchestrator.domain.usage import Usage
from orchestrator.engine.loop.metering import halts
from orchestrator.engine.services import Services
from orchestrator.gates.completion import decide
from orchestrator.gates.failure_report import failure_report
from orchestrator.gates.retry import EndedAttempt, RetryPolicy

if TYPE_CHECKING:
    from orchestrator.engine.attempt.resume import Start
    from orchestrator.engine.loop.conversation import Conversation, ConversationResult


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnd:
    """One way out of an attempt, with what the gates and QC said before it. `halt` is the error that ends the whole run
    with it, `trace` the traceback of a defect of ours."""

    status: AttemptStatus
    stop_reason: str
    stop_detail: str = ""
    verified: VerificationResult | None = None
    review: Review | None = None
    halt: OrchestrateError | None = None
    trace: str = ""
    number: int = 0

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
        halt = halts(ended.stop)  # the run's own bound is not the task's fault: the work goes on under a higher one
        status: AttemptStatus = "interrupted" if halt else "stopped"
        return cls(status=status, stop_reason=ended.reason, stop_detail=ended.detail, halt=halt)

    @classmethod
    def of_error(cls, error: Exception) -> AttemptEnd:
        """What an error means for the attempt that it ends."""
        if isinstance(error, AttemptEnded):
            return error.end
        if isinstance(error, DiskFullError):  # the run's trouble, and no task's fault
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


class AttemptRecord:
    """One attempt's node from its start to its end. A context manager: on the way out it computes the AttemptResult of
    whatever ended the attempt and writes it. An AttemptEnded and a WorkspaceError end here; what ends the run, and
    defects of ours, are raised on once the node is closed. If the graph is away the next process closes it."""

    def __init__(self, services: Services, claim: Claim) -> None:
        self.result: AttemptResult | None = None
        self.conversation: Conversation | None = None
        self.worker_output = ""
        self._services = services
        self._claim = claim
        self._start: Start | None = None
        self._began = services.clock.monotonic()

    def begin(self, start: Start, model: str) -> None:
        """Store where the attempt begins, under which limits."""
        self._start = start
        task, guards = self._claim.task, self._services.settings.guards
        allowed, budget = list(start.allowed_paths), task.tool_call_budget
        limits = {"guards": guards.model_dump(mode="json"), "budget": budget, "allowedPaths": allowed}
        described = {
            "model": model,
            "tree_before": start.tree,
            "base_commit": start.base,
            "allowed_paths": allowed,
            "tool_call_budget": budget,
            "stage": start.stage,
            "limits_json": json.dumps(limits, sort_keys=True),
            "follows": start.earlier[-1].id if start.earlier else None,
        }
        self._services.writer.describe_attempt(self._claim, described)
        self._services.listener(
            TaskClaimed(
                at=self._services.clock.now(),
                task=task.key,
                attempt=self._claim.number,
                attempt_id=self._claim.attempt_id,
                title=task.title,
                budget=budget,
                stage=start.stage,
            )
        )

    def hand_in(self, worker_output: str, tree: str) -> None:
        """The worker is done: its work waits for gates and QC."""
        self.worker_output = worker_output
        self._services.writer.await_review(self._claim, worker_output, tree, self._services.clock.now())

    def close(self, end: AttemptEnd, *, commit: str | None = None, head_before: str | None = None) -> bool:
        """Write what the end means for attempt and task. False, with nothing written, when the run's head is no longer
        `head_before`. Raises StaleFenceError when another process has taken the task over."""
        result = self._result(end, commit, head_before)
        if not self._services.writer.conclude(self._claim, result):
            return False
        self.result = result
        self._tell(result)
        return True

    def __enter__(self) -> AttemptRecord:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, StaleFenceError):
            return True  # another process goes on with the task: nothing to conclude, nothing to end
        if self.result is not None or not isinstance(error, Exception) or isinstance(error, GraphError):
            return False
        end = AttemptEnd.of_error(error)
        try:
            self.close(end)
        except StaleFenceError:
            return True
        if end.halt is not None:
            raise end.halt
        return isinstance(error, AttemptEnded | WorkspaceError)

    def _result(self, end: AttemptEnd, commit: str | None, head_before: str | None) -> AttemptResult:
        task, start, run = self._claim.task, self._start, self._services.settings.run
        verified_tree = end.verified.tree if end.verified else None
        worked_on = self.conversation.tree if self.conversation else None
        return attempt_result(
            replace(end, number=self._claim.number),
            policy=RetryPolicy(task.max_attempts, run.max_stopped_attempts),
            earlier=start.earlier if start else (),
            stage=start.stage if start else 1,
            tree=verified_tree or worked_on or (start.tree if start else None),
            worker_output=self.worker_output,
            usage=self.conversation.usage if self.conversation else Usage(),
            at=self._services.clock.now(),
            duration_ms=(self._services.clock.monotonic() - self._began) * 1000,
            commit=commit,
            head_before=head_before,
        )

    def _tell(self, result: AttemptResult) -> None:
        claim, services = self._claim, self._services
        services.listener(
            AttemptFinished(
                at=result.at,
                task=claim.task.key,
                attempt=claim.number,
                attempt_id=claim.attempt_id,
                status=result.attempt_status,
                stop_reason=result.stop_reason,
                detail=result.stop_detail,
                calls_used=result.usage.tool_call_count,
                budget=claim.task.tool_call_budget,
                tokens=result.usage.tokens,
                cost_usd=result.usage.cost_usd,
                duration_ms=result.duration_ms,
                qc_score=result.review.score if result.review else None,
            )
        )
        if result.task_status in TASK_ENDED:
            spent = services.reader.spend(run_id=claim.run_id, task_id=claim.task.id)
            services.listener(
                TaskEnded(
                    at=result.at,
                    task=claim.task.key,
                    status=result.task_status,
                    reason=result.task_stop_reason or "",
                    attempts=claim.number,
                    tokens=spent.tokens,
                    cost_usd=spent.cost_usd,
                )
            )


def attempt_result(
    end: AttemptEnd,
    *,
    policy: RetryPolicy,
    earlier: tuple[AttemptSummary, ...],
    stage: int,
    tree: str | None,
    worker_output: str,
    usage: Usage,
    at: datetime,
    duration_ms: float,
    commit: str | None = None,
    head_before: str | None = None,
) -> AttemptResult:
    """What the end means for attempt and task. Pure; `commit` and `head_before` go with an accepted one."""
    accepted, verified = end.status == "accepted", end.verified
    attempts: tuple[EndedAttempt, ...] = (*earlier, end)
    exhausted = None if accepted else policy.exhausted(attempts)
    changes = verified.changes if verified else ()
    held = _held(end)
    return AttemptResult(
        attempt_status=end.status,
        stop_reason=end.stop_reason,
        stop_detail=end.stop_detail,
        task_status="completed" if accepted else "failed" if exhausted else "pending",
        task_stop_reason="completed" if accepted else exhausted.code if exhausted else None,
        at=at,
        duration_ms=duration_ms,
        usage=usage,
        files_changed=len(changes),
        lines_changed=sum(change.added + change.removed for change in changes),
        worker_output=worker_output,
        tree_after=tree,
        findings=verified.findings if verified else (),
        review=end.review,
        decision=decide(
            findings=held,
            reviewed=bool(end.review and end.review.passed),
            exhausted=exhausted is not None,
            verified=verified,
            stage=stage,
            at=at,
        )
        if verified
        else None,
        diagnosis=failure_report(exhausted, attempts, held, at) if exhausted else None,
        commit=commit,
        head_before=head_before,
        error_context={"traceback": end.trace} if end.trace else {},
    )


def _held(end: AttemptEnd) -> tuple[Finding, ...]:
    """What stands against the work; a pass outweighs what its mode lets through."""
    raised = end.review.findings if end.review and not end.review.passed else ()
    return (*(end.verified.findings if end.verified else ()), *raised)


def _blocking(findings: tuple[Finding, ...]) -> str:
    return " ".join(finding.message for finding in findings if finding.blocking)
