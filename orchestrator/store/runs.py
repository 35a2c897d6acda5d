"""Runs: opening and closing them, what they cost, and who waits for whom: readiness, blocking, release."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime

from orchestrator.domain.errors import UserError
from orchestrator.domain.lifecycle import OPEN_RUN, RunStatus, allowed_from, check_transition
from orchestrator.domain.run import Run
from orchestrator.domain.usage import Usage
from orchestrator.store.connection import Row, Transaction
from orchestrator.store.mapping import build, instant, iso
from orchestrator.store.records import Records, end_properties, summed_usage

BARRING = ["blocked", "cancelled", "failed", "rejected"]
"""Statuses of a dependency that keep its dependents blocked."""

_RESET = [status for status in allowed_from("Task", "pending") if status not in ("completed", "rejected")]
"""What a new run makes pending again; completed tasks need `--fresh`, rejected ones an override."""


class Runs(Records):
    """Runs."""

    def open_run(self, run: Run, *, fresh: bool = False, leave: Sequence[str] = ()) -> Run:
        """Join the plan's open run (an interrupted one is running again, under the settings of who joins), or create
        `run` with every task that it is about and that is not completed set to pending, but for those whose keys are in
        `leave`. `fresh` cancels an open run and resets the completed ones too. Raises UserError for an unknown plan."""
        row = self._row(run, without=("joined",), name=f"Run {run.id} of {run.plan_id}")
        told = self._stored(end_properties("cancelled", f"Run {run.id} has begun the plan anew.", ()))

        def work(tx: Transaction) -> Run:
            if not tx.run("plan_lock", planId=run.plan_id, runId=run.id):
                raise UserError(f"There is no plan {run.plan_id}.")
            rows = tx.run("runs_open", planId=run.plan_id, by=run.id, statuses=sorted(OPEN_RUN))
            found = [build(Run, each["run"]) for each in rows]
            if found and (not fresh or found[0].id == run.id):
                return _join(tx, found[0], run)
            for other in found:
                move_run(tx, other.id, other.status, "cancelled", run.started_at)
            _start_over(tx, run, row, fresh=fresh, leave=leave, told=told)
            return dataclasses.replace(run, joined=False)

        return self._connection.write(work)

    def finish_run(self, run_id: str, status: RunStatus, at: datetime) -> None:
        """Close the run, or mark it interrupted; a plan whose tasks are all completed becomes done. Raises
        TransitionError for a step that lifecycle.py does not have."""

        def work(tx: Transaction) -> None:
            rows = tx.run("run_lock", runId=run_id, by=status)
            if not rows:
                raise UserError(f"There is no run {run_id}.")
            if rows[0]["status"] == status:
                return
            move_run(tx, run_id, rows[0]["status"], status, at)
            if status == "completed" and not tx.run("plan_unfinished", planId=rows[0]["planId"])[0]["unfinished"]:
                tx.run("plan_status", planId=rows[0]["planId"], status="done")

        self._connection.write(work)

    def run(self, run_id: str) -> Run:
        """A run. Raises UserError for an unknown id."""
        rows = self._rows("run_read", runId=run_id)
        if not rows:
            raise UserError(f"There is no run {run_id}.", next_step="`orchestrate status` lists what there is.")
        return self._build(Run, rows[0]["run"], joined=False)

    def newest_run(self, plan_id: str) -> Run | None:
        """The newest run of a plan."""
        rows = self._rows("run_newest", planId=plan_id)
        return self._build(Run, rows[0]["run"], joined=False) if rows else None

    def owners(self, run_id: str) -> tuple[str, ...]:
        """Who holds leases in a run."""
        return tuple(row["owner"] for row in self._rows("run_owners", runId=run_id))

    def spans(self, run_id: str, task_id: str | None = None) -> tuple[tuple[datetime, datetime], ...]:
        """From when to when each of a run's attempts (or of one task's in it) was worked on, as far as its facts
        tell."""
        if task_id is None:
            rows = self._rows("run_spans", runId=run_id)
        else:
            rows = self._rows("task_spans", taskId=task_id, runId=run_id)
        return tuple((instant(row["begun"]), instant(row["ended"])) for row in rows)

    def spend(self, *, run_id: str | None = None, task_id: str | None = None, attempt_id: str | None = None) -> Usage:
        """What a run has cost, or a task: in any run, in one run, or in one attempt. Reviews and the PM's decisions are
        included, unsettled turns at what they reserved. Nothing for neither run nor task."""
        if task_id is None:
            rows = self._rows("spend_run", runId=run_id)
        else:
            rows = self._rows("spend_task", taskId=task_id, runId=run_id, attemptId=attempt_id)
        return summed_usage(rows[0]) if rows else Usage()


def move_run(tx: Transaction, run_id: str, current: RunStatus, status: RunStatus, at: datetime) -> None:
    """Set a locked run's status. Raises TransitionError."""
    check_transition("Run", current, status)
    tx.run("run_status", runId=run_id, status=status, finishedAt=None if status in OPEN_RUN else iso(at))


def _join(tx: Transaction, found: Run, asked: Run) -> Run:
    if found.status != "running":
        move_run(tx, found.id, found.status, "running", asked.started_at)
    keys = tuple(dict.fromkeys((*found.keys, *asked.keys))) if found.keys and asked.keys else ()
    tx.run("run_keys", runId=found.id, keys=list(keys))
    tx.run("run_settings", runId=found.id, settingsJson=asked.settings_json)
    return dataclasses.replace(
        found,
        status="running",
        finished_at=None,
        settings_json=asked.settings_json,
        keys=keys,
        joined=found.id != asked.id,
    )


def _start_over(tx: Transaction, run: Run, row: Row, *, fresh: bool, leave: Sequence[str], told: Row) -> None:
    plan_id, live = run.plan_id, allowed_from("Attempt", "cancelled")
    keys = [] if fresh else list(run.keys)  # on the plan's base nothing is done yet, whatever is to be done now
    tx.run("attempts_cancel", planId=plan_id, keys=keys, live=live, at=iso(run.started_at), told=told)
    statuses = [*_RESET, "completed"] if fresh else _RESET
    tx.run("tasks_reset", planId=plan_id, statuses=statuses, keys=keys, leave=list(leave))
    tx.run("plan_status", planId=plan_id, status="ready")
    tx.run("run_store", run=row)
    for barring in tx.run("tasks_with_status", planId=plan_id, statuses=["failed", "rejected"]):
        block_dependents(tx, barring["id"], barring["key"])
    tx.run("tasks_ready", planId=run.plan_id)


def block_dependents(tx: Transaction, task_id: str, key: str) -> None:
    """Block what waits for the task, directly or not, level by level."""
    level = [task_id]
    while level:
        locked = [row["id"] for row in tx.run("dependents_lock", ids=level, by=task_id)]
        level = [row["id"] for row in tx.run("dependents_block", ids=locked, key=key)]


def release_dependents(tx: Transaction, task_id: str, direct: list[str]) -> None:
    """The task is completed: unblock what it blocked, level by level, and mark as ready what waits for nothing more.
    `direct` are its dependents, write-locked before its status was written (lock first, then look)."""
    level = direct
    while level:
        level = [row["id"] for row in tx.run("dependents_release", ids=level, barring=BARRING)]
        level = [row["id"] for row in tx.run("dependents_lock", ids=level, by=task_id)] if level else []
    if direct:
        tx.run("dependents_ready", ids=direct)
