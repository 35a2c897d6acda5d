"""What a person orders about tasks and runs while others may work on them: trying again, and cancelling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from orchestrator.domain.lifecycle import RETRIED, RUN, TransitionError, allowed_from, check_transition
from orchestrator.domain.next_commands import retry_command
from orchestrator.domain.run import Run
from orchestrator.domain.task import Retry
from orchestrator.domain.text import camel
from orchestrator.store.connection import Row, Transaction
from orchestrator.store.leases import cut_off
from orchestrator.store.mapping import build, instant, iso
from orchestrator.store.records import LIVE, Records, end_properties
from orchestrator.store.runs import block_dependents, move_run, release_dependents

_CHANGES = ("note", "tool_call_budget", "model", "from_tree", "from_base")


class Orders(Records):
    """Orders."""

    def retry_task(self, plan_id: str, retry: Retry) -> None:
        """Make a task pending, record the retry, release what it blocked, and open the plan's newest run again if it
        had failed. A task that is pending already only gets what is added. Raises TransitionError."""
        row = self._row(retry, name=(retry.note or "retried")[:60])
        changes = self._changes(retry)

        def work(tx: Transaction) -> None:
            tx.run("plan_lock", planId=plan_id, runId=retry.id)
            self._reopen(tx, plan_id, retry)
            dependents = [found["id"] for found in tx.run("dependents_lock", ids=[retry.task_id], by=retry.id)]
            status = tx.run("task_lock", taskId=retry.task_id, by=retry.id)[0]["status"]
            if status not in RETRIED and not (status == "completed" and retry.review_id):
                raise TransitionError(f"A task that is {status} cannot be retried; allowed: {sorted(RETRIED)}")
            anew = status != "pending" or retry.from_tree is not None
            tx.run("retry_store", taskId=retry.task_id, retry=row, changes=changes, anew=anew)
            if retry.review_id:
                tx.run("plan_status", planId=plan_id, status="ready")
                tx.run("dependents_wait", ids=dependents)
            tx.run("dependents_ready", ids=[retry.task_id])
            release_dependents(tx, retry.task_id, dependents)

        self._connection.write(work)

    def cancel_task(self, task_id: str, at: datetime) -> bool:
        """Cancel a task and its live attempt, and block what waits for it. False for one that has ended."""

        def work(tx: Transaction) -> bool:
            tx.run("dependents_lock", ids=[task_id], by=iso(at))
            for row in _cancel(tx, [task_id], allowed_from("Task", "cancelled"), at, self._told):
                block_dependents(tx, row["id"], row["key"])
            return bool(tx.run("task_lock", taskId=task_id, by=iso(at))[0]["status"] == "cancelled")

        return self._connection.write(work)

    def cancel_run(self, run: Run, at: datetime) -> None:
        """Cancel a run, what of its tasks has not ended, and their live attempts. Raises TransitionError for a run that
        is over."""
        statuses = [status for status in allowed_from("Task", "cancelled") if status != "rejected"]

        def work(tx: Transaction) -> None:
            found = tx.run("run_lock", runId=run.id, by=iso(at))[0]
            if found["status"] == "cancelled":
                return  # repeated after a lost acknowledgement
            move_run(tx, run.id, found["status"], "cancelled", at)
            tasks = tx.run("tasks_with_status", planId=run.plan_id, statuses=statuses)
            ids = [t["id"] for t in tasks if not run.keys or t["key"] in run.keys]
            cancelled = _cancel(tx, ids, statuses, at, self._told)
            for row in cancelled if run.keys else ():
                block_dependents(tx, row["id"], row["key"])

        self._connection.write(work)

    def trees_of_task(self, task_id: str, beginning: str) -> tuple[tuple[str, str], ...]:
        """The trees that a task's attempts left whose id begins so, each with the commit under it; newest first."""
        rows = self._rows("task_trees", taskId=task_id, text=beginning)
        return tuple({row["tree"]: (row["tree"], row["base"]) for row in reversed(rows)}.values())

    def _told(self, task_id: str, at: datetime) -> Row:
        again = retry_command("cancelled", task_id, budget=0)  # which names no budget after this end
        return self._stored(end_properties("cancelled", f"Cancelled by the user at {iso(at)}.", [again]))

    def _changes(self, retry: Retry) -> Row:
        """What the retry sets of the task; a beginning holds for this retry alone, the rest until it is set again."""
        given = {name: getattr(retry, name) for name in _CHANGES}
        kept = {name: value for name, value in given.items() if value is not None or name.startswith("from_")}
        return self._stored({camel(name): value for name, value in kept.items()})

    def _reopen(self, tx: Transaction, plan_id: str, retry: Retry) -> None:
        """A failed run goes on with the task; another one's work is what it was. A run about some tasks is about this
        one too."""
        rows = tx.run("runs_open", planId=plan_id, by=retry.id, statuses=sorted(RUN))
        if not rows:
            return
        newest = build(Run, rows[0]["run"], joined=False)
        if newest.status == "failed":
            move_run(tx, newest.id, newest.status, "interrupted", retry.at)
        if newest.keys:
            tx.run("run_keys", runId=newest.id, keys=list(dict.fromkeys((*newest.keys, retry.task_key))))


def _cancel(
    tx: Transaction, ids: Sequence[str], statuses: Sequence[str], at: datetime, told: Callable[[str, datetime], Row]
) -> list[Row]:
    """Cancel tasks with their live attempts; which tasks were cancelled. `told` gives what an attempt's node says.
    Attempts are locked before tasks, as whoever concludes one does, and looked at again when nobody can claim any
    more."""
    _live(tx, ids, at)
    cancelled = tx.run("tasks_cancel", ids=ids, by=iso(at), statuses=statuses)
    for row in _live(tx, [row["id"] for row in cancelled], at):
        check_transition("Attempt", row["status"], "cancelled")
        cut_off(
            tx,
            row["id"],
            status="cancelled",
            fence=row["fence"] + 1,
            at=at,
            lived=instant(row["lastEventAt"]) - instant(row["startedAt"]),
            told=told(row["taskId"], at),
        )
    return cancelled


def _live(tx: Transaction, ids: Sequence[str], at: datetime) -> list[Row]:
    return tx.run("attempts_live", ids=ids, live=LIVE, by=iso(at))
