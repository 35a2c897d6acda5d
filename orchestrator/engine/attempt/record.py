"""The record of one attempt: its node, from its start to its end, closed whatever happens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING

from orchestrator.domain.attempt import AttemptResult, Owner
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.errors import GraphError, StaleFenceError, WorkspaceError
from orchestrator.domain.events import Resumed
from orchestrator.domain.lifecycle import TASK_ENDED
from orchestrator.domain.progress import AttemptFinished, TaskClaimed, TaskEnded
from orchestrator.domain.run import Claim
from orchestrator.domain.usage import Usage
from orchestrator.domain.usage_limits import LEDGER, nearest_s
from orchestrator.domain.verdict import Stop
from orchestrator.domain.workspace import FileChange
from orchestrator.engine.attempt.artefacts import write_artefacts_of
from orchestrator.engine.attempt.failure_report import told_by_model
from orchestrator.engine.attempt.result import AttemptEnd, AttemptEnded, attempt_result
from orchestrator.engine.attempt.resume import Start, counted_attempts, effort_of
from orchestrator.engine.loop.journal import Journal, Subscriber
from orchestrator.engine.loop.metering import Meter
from orchestrator.engine.services import Services
from orchestrator.gates.convergence import Convergence
from orchestrator.gates.failure_report import RUN_OUT
from orchestrator.gates.retry import RetryPolicy
from orchestrator.guards.guard_set import GuardSet, replay
from orchestrator.guards.origin import origin

if TYPE_CHECKING:
    from orchestrator.engine.loop.conversation import Conversation


def attempt_journal(services: Services, claim: Claim, start: Start, subscribers: Sequence[Subscriber] = ()) -> Journal:
    """The attempt's journal, whose guards have seen what it has inherited; the time between counts for no deadline."""
    begun = GuardSet.begin(services.settings.guards, claim.task.tool_call_budget, start.allowed_paths)
    owner = Owner("Attempt", claim.attempt_id, claim.attempt_id, claim.fence)
    journal = Journal(services.writer, owner, replay(begun, start.inherited), subscribers)
    if start.last_event_at is not None:
        journal.append(Resumed(at=services.clock.now(), last_event_at=start.last_event_at))
    return journal


@dataclass(frozen=True, slots=True)
class Deadlines:
    """The bounds of time of an attempt, its task and its run together: no command outlives them, the worker's or a
    check. `journal` holds the attempt's own (None: it has not begun), `meter` those of task and run (None: nothing is
    bounded)."""

    journal: Journal | None
    meter: Meter | None

    def seconds_left(self, at: datetime) -> float | None:
        """Until the nearest of them; None without one."""
        own_s = self.journal.guard_set.seconds_left(at) if self.journal else None
        return nearest_s(own_s, self.meter.seconds_left(at) if self.meter else None)

    def stop(self, at: datetime) -> Stop | None:
        """Record the Stop of the one that is reached at the instant `at`; None as long as there is time."""
        shared = self.meter.in_time(at) if self.meter else ()
        if self.journal is None:
            return next((verdict for verdict in shared if isinstance(verdict, Stop)), None)
        if self.journal.stop is None:
            self.journal.append_verdicts((*self.journal.guard_set.in_time(at), *shared), at)
        self.journal.flush()
        return self.journal.stop


class AttemptRecord:
    """One attempt's node from its start to its end. A context manager: on the way out it computes the AttemptResult of
    whatever ended the attempt and writes it. An AttemptEnded and a WorkspaceError end here, unless they halt the run;
    what does, and defects of ours, are raised on once the node is closed. If the graph is away the next process closes
    it."""

    def __init__(self, services: Services, claim: Claim, meter: Meter | None) -> None:
        self.result: AttemptResult | None = None
        self.conversation: Conversation | None = None
        self.worker_output = ""
        self._services = services
        self._claim = claim
        self._meter = meter
        self.start: Start | None = None
        """Where it begins, as soon as that is known: an end before the work has begun counts with the earlier ones."""
        self.baseline: Baseline | None = None
        """What failed before the work, as soon as that is known."""
        self._began = services.clock.monotonic()

    @property
    def deadlines(self) -> Deadlines:
        """The bounds of time that hold on when the worker is done. Where the worker was not asked, because an attempt
        that was cut off had handed in, they are those that this one has inherited."""
        if self.conversation is not None:
            return Deadlines(self.conversation.journal, self._meter)
        assert self.start is not None  # noqa: S101  nothing is checked before it is known
        return Deadlines(attempt_journal(self._services, self._claim, self.start), self._meter)

    def begin(self, start: Start, model: str) -> None:
        """Store where the attempt begins, under which limits."""
        task, guards = self._claim.task, self._services.settings.guards
        allowed, budget = list(start.allowed_paths), task.tool_call_budget
        limits = {
            "guards": guards.model_dump(mode="json"),
            "budget": budget,
            "allowedPaths": allowed,
            "taskPaths": task.paths,
        }
        described = {
            "model": model,
            "tree_before": start.tree,
            "base_commit": start.base,
            "allowed_paths": allowed,
            "tool_call_budget": budget,
            "stage": start.stage,
            "strategy": start.strategy,
            "limits_json": json.dumps(limits, sort_keys=True),
            "prompt_hash": task.words_hash,
            "follows": start.earlier[-1].id if start.earlier else None,
        }
        self._services.writer.describe_attempt(self._claim, described)
        if start.earlier and start.earlier[-1].status == "interrupted":  # its process may not have written them
            write_artefacts_of(self._services, task, self.baseline)
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
        result = self._reported(self._result(end, commit, head_before))
        if not self._services.writer.conclude(self._claim, result):
            return False
        self.result = result
        self._tell(result)
        write_artefacts_of(self._services, self._claim.task, self.baseline)
        return True

    def __enter__(self) -> AttemptRecord:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, StaleFenceError):
            self._tell_lost()
            return True  # another process goes on with the task: nothing to conclude, nothing to end
        if self.result is not None or not isinstance(error, Exception) or isinstance(error, GraphError):
            return False
        end = AttemptEnd.of_error(error)
        try:
            self.close(end)
        except StaleFenceError:
            self._tell_lost()
            return True
        if end.halt is not None:
            raise end.halt
        return isinstance(error, AttemptEnded | WorkspaceError)

    def _reported(self, result: AttemptResult) -> AttemptResult:
        """With what QC's model says to the report, where the task ran out."""
        if result.diagnosis is None or result.task_stop_reason not in RUN_OUT:
            return result
        report = told_by_model(self._services, self._claim, result.diagnosis, self._meter)
        return replace(result, diagnosis=report)

    def _result(self, end: AttemptEnd, commit: str | None, head_before: str | None) -> AttemptResult:
        task, start, run = self._claim.task, self.start, self._services.settings.run
        verified_tree = end.verified.tree if end.verified else None
        worked_on = self.conversation.tree if self.conversation else None
        history = () if start else self._services.reader.history(task.id)
        earlier = start.earlier if start else counted_attempts(history, self._claim)
        effort = effort_of(self._services, self._claim, earlier, end.status, end.verified)
        return attempt_result(
            replace(
                end, number=self._claim.number, first_seq=self._first_seq(end), effort=effort, changes=self._own(end)
            ),
            task=task,
            policy=RetryPolicy(task.max_attempts, run.max_stopped_attempts, self._services.settings.convergence),
            earlier=earlier,
            converged=start.standing.convergence if start else Convergence(),
            tree=verified_tree or worked_on or (start.tree if start else None),
            worker_output=self.worker_output,
            usage=self.conversation.journal.usage if self.conversation else Usage(),
            at=self._services.clock.now(),
            duration_ms=(self._services.clock.monotonic() - self._began) * 1000,
            commit=commit,
            head_before=head_before,
        )

    def _own(self, end: AttemptEnd) -> tuple[FileChange, ...]:
        """What the attempt itself has changed, where one before it was rejected."""
        if end.verified is None or self.start is None or not self.start.earlier:
            return ()
        return self._services.workspaces.changes(self.start.begun, end.verified.tree)

    def _tell_lost(self) -> None:
        """One that was cancelled is over for whoever watches; one that was taken over goes on elsewhere."""
        claim, now = self._claim, self._services.clock.now()
        lost = self._services.reader.attempt(claim.attempt_id)
        if lost.status != "cancelled":
            return
        write_artefacts_of(self._services, claim.task, self.baseline)
        spent = self._spent()
        self._services.listener(
            AttemptFinished(
                at=now,
                task=claim.task.key,
                attempt=claim.number,
                attempt_id=claim.attempt_id,
                status=lost.status,
                stop_reason=lost.stop_reason or "",
                detail=lost.stop_detail or "",
                calls_used=lost.usage.tool_call_count,
                budget=lost.tool_call_budget,
                tokens=spent.tokens,
                cost_usd=spent.cost_usd,
                reserved_tokens=spent.reserved_tokens,
                reserved_usd=spent.reserved_usd,
                duration_ms=(now - claim.at).total_seconds() * 1000,
            )
        )

    def _spent(self) -> Usage:
        """What the attempt has used by all accounts, as every screen tells it: QC's turns and the PM's decisions are in
        no conversation of the worker's."""
        claim = self._claim
        return self._services.reader.spend(task_id=claim.task.id, attempt_id=claim.attempt_id)

    def _first_seq(self, end: AttemptEnd) -> int | None:
        """Where what the worker was stopped for began, as far as this attempt's own events tell."""
        if end.stop is None or self.start is None or self.conversation is None:
            return None
        if end.stop is not self.conversation.journal.stop or end.stop.guard == LEDGER:
            return None  # QC's own guards, or a bound that is no fold over these events
        guards, budget = self._services.settings.guards, self._claim.task.tool_call_budget
        begun = GuardSet.begin(guards, budget, self.start.allowed_paths)
        return origin(begun, self._services.reader.events(self._claim.attempt_id))

    def _tell(self, result: AttemptResult) -> None:
        claim, services, spent = self._claim, self._services, self._spent()
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
                tokens=spent.tokens,
                cost_usd=spent.cost_usd,
                reserved_tokens=spent.reserved_tokens,
                reserved_usd=spent.reserved_usd,
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
                    max_stopped=services.settings.run.max_stopped_attempts,
                    tokens=spent.tokens,
                    cost_usd=spent.cost_usd,
                    reserved_tokens=spent.reserved_tokens,
                    reserved_usd=spent.reserved_usd,
                )
            )
