"""The record of one attempt: its node, from its start to its end, closed whatever happens."""

from __future__ import annotations

import json
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from orchestrator.domain.attempt import AttemptResult
from orchestrator.domain.errors import GraphError, StaleFenceError, WorkspaceError
from orchestrator.domain.lifecycle import TASK_ENDED
from orchestrator.domain.progress import AttemptFinished, TaskClaimed, TaskEnded
from orchestrator.domain.run import Claim
from orchestrator.domain.usage import Usage
from orchestrator.engine.attempt.result import AttemptEnd, AttemptEnded, attempt_result
from orchestrator.engine.services import Services
from orchestrator.gates.retry import RetryPolicy

if TYPE_CHECKING:
    from orchestrator.engine.attempt.resume import Start
    from orchestrator.engine.loop.conversation import Conversation


class AttemptRecord:
    """One attempt's node from its start to its end. A context manager: on the way out it computes the AttemptResult of
    whatever ended the attempt and writes it. An AttemptEnded and a WorkspaceError end here, unless they halt the run;
    what does, and defects of ours, are raised on once the node is closed. If the graph is away the next process closes
    it."""

    def __init__(self, services: Services, claim: Claim) -> None:
        self.result: AttemptResult | None = None
        self.conversation: Conversation | None = None
        self.worker_output = ""
        self._services = services
        self._claim = claim
        self.start: Start | None = None
        """Where it begins, as soon as that is known: an end before the work has begun counts with the earlier ones."""
        self._began = services.clock.monotonic()

    def begin(self, start: Start, model: str) -> None:
        """Store where the attempt begins, under which limits."""
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
        task, start, run = self._claim.task, self.start, self._services.settings.run
        verified_tree = end.verified.tree if end.verified else None
        worked_on = self.conversation.tree if self.conversation else None
        return attempt_result(
            replace(end, number=self._claim.number),
            policy=RetryPolicy(task.max_attempts, run.max_stopped_attempts),
            earlier=start.earlier if start else (),
            stage=start.stage if start else 1,
            tree=verified_tree or worked_on or (start.tree if start else None),
            worker_output=self.worker_output,
            usage=self.conversation.journal.usage if self.conversation else Usage(),
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
                    reserved_tokens=spent.reserved_tokens,
                    reserved_usd=spent.reserved_usd,
                )
            )
