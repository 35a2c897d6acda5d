"""Runs a plan: independent tasks in parallel threads, each claimed from the graph, until nothing is left to claim.

Any number of processes may run the same plan; the graph alone decides who has which task. The DAG is respected by the
claim itself: a task becomes claimable in the transaction that completes its last dependency.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from orchestrator.domain.errors import GraphError, OrchestrateError, RunBoundError
from orchestrator.domain.lifecycle import RunStatus, TransitionError
from orchestrator.domain.plan import Plan
from orchestrator.domain.progress import RunEnded, TaskEnded, Waiting
from orchestrator.domain.run import Claim, ClaimRequest, Run
from orchestrator.domain.task import TaskState
from orchestrator.engine.attempt.run_attempt import run_attempt
from orchestrator.engine.cancellation import CancelToken
from orchestrator.engine.lease_heartbeat import LeaseHeartbeat, dead_owners
from orchestrator.engine.loop.metering import RunMeter
from orchestrator.engine.services import Services

_POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended for this process; `error` is what halted it (None: it went to its end)."""

    run: Run
    status: RunStatus
    tasks: tuple[TaskState, ...]
    error: OrchestrateError | None = None
    interrupted: bool = False


class Scheduler:
    """One process's share in one run."""

    def __init__(
        self, services: Services, plan: Plan, run: Run, meter: RunMeter, *, home: Path, keys: tuple[str, ...] | None
    ) -> None:
        self._services = services
        self._plan = plan
        self._run = run
        self._meter = meter
        self._keys = keys
        self._owners = home / "owners"
        self._halt: OrchestrateError | None = None
        self._defect: BaseException | None = None
        self._interrupted = threading.Event()
        self._busy = 0
        self._changed = threading.Condition()

    def interrupt(self) -> None:
        """The user asks to stop: calls under way finish, attempts are released, the run can be resumed."""
        self._interrupted.set()
        self._services.cancelled.cancel("Interrupted by the user.")

    def execute(self, parallelism: int) -> RunResult:
        """Work until nothing is left, the run is halted, or interrupt() is called. Raises what is a defect of ours."""
        owner = self._services.ids.new("w")
        with LeaseHeartbeat(
            owner=owner,
            folder=self._owners,
            reader=self._services.reader,
            writer=self._services.writer,
            clock=self._services.clock,
            lease_s=self._services.settings.run.lease_s,
        ) as life:
            self._services.workspaces.sweep()
            self._close_orphans()
            self._services.workspaces.deliver(self._run.branch, self._services.reader.run(self._run.id).head_commit)
            threads = [
                threading.Thread(target=self._guarded, args=(life,), name=f"task-{n}", daemon=True)
                for n in range(parallelism)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.1)  # short, so that a signal is handled in between
            if self._defect is not None or isinstance(self._halt, GraphError):
                life.abandon()
        if self._defect is not None:
            raise self._defect
        return self._finish()

    # -- one thread ------------------------------------------------------------------------------------------------

    def _guarded(self, life: LeaseHeartbeat) -> None:
        try:
            self._work(life)
        except OrchestrateError as error:
            self._stop_all(error)
        except BaseException as defect:  # a thread must not die unseen: execute() raises it
            self._defect = self._defect or defect
            self._stop_all(None)

    def _work(self, life: LeaseHeartbeat) -> None:
        while self._halt is None and not self._services.cancelled.is_set():
            claim = self._claim(life)
            if claim is None:
                if not self._still_open() or self._nothing_left():
                    return
                self._wait()
                continue
            cancelled = CancelToken(self._services.cancelled)
            try:
                with life.watching(claim.attempt_id, cancelled), self._meter.of_attempt(claim) as meter:
                    run_attempt(replace(self._services, cancelled=cancelled), self._plan, claim, meter)
            except OrchestrateError as error:
                self._halted(error)
            finally:
                self._released()

    def _claim(self, life: LeaseHeartbeat) -> Claim | None:
        with self._changed:
            self._busy += 1  # before the claim, so that no other thread takes the run for finished meanwhile
        claim = None
        try:
            now = self._services.clock.now()
            claim = self._services.writer.claim(
                ClaimRequest(
                    run_id=self._run.id,
                    plan_id=self._plan.id,
                    owner=life.owner,
                    at=now,
                    lease_until=now + life.lease,
                    keys=self._keys,
                )
            )
        finally:
            if claim is None:
                self._released()
        return claim

    def _released(self) -> None:
        with self._changed:
            self._busy -= 1
            self._changed.notify_all()

    def _wait(self) -> None:
        with self._changed:
            self._changed.wait(_POLL_S)

    def _nothing_left(self) -> bool:
        """Whether no task of ours can still become claimable: nobody works on one, here or elsewhere."""
        with self._changed:
            if self._busy:
                return False
        self._close_orphans()
        return not self._services.reader.work_left(self._plan.id, self._keys)

    def _still_open(self) -> bool:
        """Whether the run may be worked for. Another process that was interrupted has marked it so: as long as this one
        works, it is running. A run that is over (cancelled by --fresh, for example) is nobody's any more."""
        run = self._services.reader.run(self._run.id)
        if run.status == "interrupted":
            run = self._services.writer.open_run(run)
        return run.id == self._run.id and run.status == "running"

    def _halted(self, error: OrchestrateError) -> None:
        """At the run's own bound nothing more is begun, but each attempt under way has its finishing turn:
        its meter ends it. Anything else ends all of them."""
        if isinstance(error, RunBoundError):
            self._halt = self._halt or error
        else:
            self._stop_all(error)

    def _stop_all(self, error: OrchestrateError | None) -> None:
        self._halt = self._halt or error
        self._services.cancelled.cancel(f"Cut off, because the run was halted elsewhere: {error or 'a defect of ours'}")

    def _close_orphans(self) -> None:
        dead = dead_owners(self._services.reader.owners(self._run.id), self._owners)
        now = self._services.clock.now()
        for orphan in self._services.writer.orphans(self._run.id, now, dead):
            if self._services.writer.close_interrupted(orphan, now):
                message = (
                    f"{orphan.task_key}: the process of its last attempt is gone; the work goes on in a new attempt"
                )
                self._services.listener(Waiting(at=now, message=message))

    # -- the end ---------------------------------------------------------------------------------------------------

    def _finish(self) -> RunResult:
        if isinstance(self._halt, GraphError):
            raise self._halt
        tasks = self._services.reader.tasks(self._plan.id)
        status = self._status(tasks)
        now = self._services.clock.now()
        status = self._closed(status, now)
        spent = self._services.reader.spend(run_id=self._run.id)
        duration_ms = (now - self._run.started_at).total_seconds() * 1000
        self._tell_blocked(tasks, now)
        self._services.listener(
            RunEnded(
                at=now,
                run_id=self._run.id,
                status=status,
                branch=self._run.branch,
                tokens=spent.tokens,
                cost_usd=spent.cost_usd,
                reserved_tokens=spent.reserved_tokens,
                reserved_usd=spent.reserved_usd,
                duration_ms=duration_ms,
            )
        )
        return RunResult(self._run, status, tasks, self._halt, self._interrupted.is_set())

    def _tell_blocked(self, tasks: tuple[TaskState, ...], now: datetime) -> None:
        for state in tasks:
            if state.status == "blocked" and (self._keys is None or state.task.key in self._keys):
                why = f"waits for {state.blocked_by}"
                self._services.listener(
                    TaskEnded(at=now, task=state.task.key, status="blocked", reason=why, attempts=0)
                )

    def _closed(self, status: RunStatus, now: datetime) -> RunStatus:
        """Write how the run ended. Where another process closed it meanwhile, that stands."""
        try:
            if status != "interrupted":
                self._still_open()
            self._services.writer.finish_run(self._run.id, status, now)
        except TransitionError:
            return self._services.reader.run(self._run.id).status
        return status

    def _status(self, tasks: tuple[TaskState, ...]) -> RunStatus:
        keys = self._services.reader.run(self._run.id).keys  # of the whole run, whichever of them were ours
        statuses = {state.status for state in tasks if not keys or state.task.key in keys}
        if statuses <= {"completed"} and self._halt is None:  # a branch that does not follow yet is a halt too
            return "completed"
        if (
            self._halt is not None
            or self._services.cancelled.is_set()
            or statuses & {"pending", "running", "awaiting_qc"}
        ):
            return "interrupted"
        return "failed"
