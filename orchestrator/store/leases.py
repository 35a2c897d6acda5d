"""Claiming tasks, keeping and taking over leases."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import itemgetter

from orchestrator.domain.attempt import Check
from orchestrator.domain.lifecycle import AttemptStatus, check_transition
from orchestrator.domain.next_commands import execute_command
from orchestrator.domain.run import Claim, ClaimRequest, Orphan
from orchestrator.domain.task import Task
from orchestrator.store.connection import Row, Transaction
from orchestrator.store.mapping import build, iso
from orchestrator.store.records import LIVE, Records, end_properties

CANDIDATES = 16
"""Ready tasks that one claim tries before it looks again."""


class Leases(Records):
    """Leases."""

    def claim(self, request: ClaimRequest) -> Claim | None:
        """Claim the first ready task in plan order: lock, lease, fence + 1 and attempt node, in one transaction. None
        when nothing is claimable now, or the run is not running."""
        token = uuid.uuid4().hex
        tries = 0

        def work(tx: Transaction) -> Claim | None:
            nonlocal tries
            tries += 1
            if tries > 1 and (found := tx.run("claim_find", token=token)):
                return self._claim(request, found[0]["task"])
            run = tx.run("claim_run", runId=request.run_id)
            if not run or run[0]["status"] != "running":
                return None
            return self._first(tx, request, token, run[0]["repository"])

        return self._connection.write(work)

    def renew_leases(self, owner: str, until: datetime) -> int:
        """Extend all leases of an owner; how many there were."""
        rows = self._connection.write(lambda tx: tx.run("leases_renew", owner=owner, until=iso(until)))
        return int(rows[0]["renewed"]) if rows else 0

    def held_attempts(self, owner: str) -> frozenset[str]:
        """The ids of the attempts whose tasks an owner holds."""
        return frozenset(row["id"] for row in self._rows("attempts_held", owner=owner))

    def orphans(self, run_id: str, at: datetime, dead_owners: Sequence[str]) -> tuple[Orphan, ...]:
        """Attempts of the run whose lease expired or whose owner is among the dead."""
        rows = self._rows("orphans_read", runId=run_id, live=LIVE, at=iso(at), dead=list(dead_owners))
        return tuple(build(Orphan, row) for row in rows)

    def close_interrupted(self, orphan: Orphan, at: datetime) -> bool:
        """Close an orphan as interrupted: fence + 1, task pending and ready again, unfinished calls interrupted. False
        when somebody else was first (another taker, or the owner that concluded it after all)."""

        def work(tx: Transaction) -> bool:
            found = tx.run("attempt_touch", attemptId=orphan.attempt_id, by=iso(at))
            if not found or found[0]["fence"] != orphan.fence or found[0]["status"] not in LIVE:
                return False
            task = tx.run("task_lock", taskId=orphan.task_id, by=orphan.attempt_id)[0]
            check_transition("Task", task["status"], "pending")
            check_transition("Attempt", found[0]["status"], "interrupted")
            higher = orphan.fence + 1
            why = f"The process that worked on it is gone; it was last heard of at {iso(orphan.last_event_at)}."
            checks = [self._build(Check, row["check"]) for row in tx.run("attempt_checks", attemptId=orphan.attempt_id)]
            cut_off(
                tx,
                orphan.attempt_id,
                status="interrupted",
                fence=higher,
                at=at,
                lived=orphan.last_event_at - orphan.started_at,
                told=self._stored(end_properties("interrupted", why, [execute_command(orphan.plan_id)], checks)),
            )
            tx.run("task_reopen", taskId=orphan.task_id, fence=higher)
            return True

        return self._connection.write(work)

    def _first(self, tx: Transaction, request: ClaimRequest, token: str, repository: str) -> Claim | None:
        bounds = {"from": f"{request.plan_id}:", "to": f"{request.plan_id};"}  # ';' is the character after ':'
        keys = None if request.keys is None else list(request.keys)
        found = tx.run("claim_candidates", keys=keys, limit=CANDIDATES, **bounds)
        for candidate in sorted(found, key=itemgetter("readyKey")):
            won = tx.run(
                "claim_task", taskId=candidate["id"], owner=request.owner, token=token, until=iso(request.lease_until)
            )
            if won:
                return self._begin(tx, request, token, won[0]["task"], repository)
        return None

    def _begin(self, tx: Transaction, request: ClaimRequest, token: str, task: Row, repository: str) -> Claim:
        claim = self._claim(request, task)
        attempt = {
            "id": claim.attempt_id,
            "name": f"{claim.task.key} #{claim.number}",
            "taskId": claim.task.id,
            "taskKey": claim.task.key,
            "runId": request.run_id,
            "repository": repository,
            "number": claim.number,
            "status": "running",
            "stage": 1,
            "fence": claim.fence,
            "owner": request.owner,
            "startedAt": iso(request.at),
            "model": claim.task.model or "",
            "toolCallBudget": claim.task.tool_call_budget,
            "workerOutput": "",
            "claimToken": token,
        }
        tx.run("claim_attempt", attempt=self._stored(attempt))
        if claim.number > 1:
            follow = {"attemptId": claim.attempt_id, "taskId": claim.task.id, "runId": request.run_id}
            tx.run("claim_follow", number=claim.number, **follow)
        return claim

    def _claim(self, request: ClaimRequest, task: Row) -> Claim:
        number = task["attemptNumber"]
        return Claim(
            run_id=request.run_id,
            task=build(Task, self._texts.whole(task)),
            attempt_id=f"{task['id']}:{number}",
            number=number,
            fence=task["fence"],
            owner=request.owner,
            at=request.at,
        )


def cut_off(
    tx: Transaction,
    attempt_id: str,
    *,
    status: AttemptStatus,
    fence: int,
    at: datetime,
    lived: timedelta,
    told: Row,
) -> None:
    """Close a locked attempt for who works on it no more, with what it came to, and the properties that tell why;
    unfinished calls are interrupted."""
    tx.run("calls_interrupt", attemptId=attempt_id)
    duration_ms = lived.total_seconds() * 1000
    closed = {"status": status, "fence": fence, "at": iso(at), "told": told, "durationMs": duration_ms}
    tx.run("attempt_cut_off", attemptId=attempt_id, **closed)
