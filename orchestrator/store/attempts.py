"""Attempts while they live and their checks, and how they are read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from orchestrator.domain.attempt import AttemptSummary, Check, Decision
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.errors import UserError
from orchestrator.domain.failure import Failure, ShownFailure
from orchestrator.domain.fix import Fix
from orchestrator.domain.lifecycle import check_transition
from orchestrator.domain.run import Claim
from orchestrator.domain.usage import Usage
from orchestrator.store.connection import Row, Transaction
from orchestrator.store.mapping import build, mapping_properties
from orchestrator.store.records import fence
from orchestrator.store.reviews import ReviewRecords


class Attempts(ReviewRecords):
    """Attempts."""

    def describe_attempt(self, claim: Claim, properties: Mapping[str, Any]) -> None:
        """Set properties of the running attempt that are known only after the claim (snake case names): model,
        tree_before, base_commit, allowed_paths, tool_call_budget, stage, strategy, limits_json; `follows` links the
        attempt that it follows. Raises StaleFenceError."""
        named = dict(properties)
        follows = named.pop("follows", None)
        row = self._stored(mapping_properties(named))
        link = {} if follows is None else {"attempt_follow": {"follows": follows}}
        self._write(claim, {"attempt_set": {"properties": row}} | link)

    def await_review(self, claim: Claim, worker_output: str, tree_after: str, at: datetime) -> None:
        """Task and attempt go from running to awaiting_qc. Raises StaleFenceError."""
        row = self._stored({"status": "awaiting_qc", "workerOutput": worker_output, "treeAfter": tree_after})

        def work(tx: Transaction) -> None:
            found = fence(tx, claim.attempt_id, claim.fence, at)
            if found["status"] == "awaiting_qc":
                return  # repeated after a lost acknowledgement
            task = tx.run("task_lock", taskId=claim.task.id, by=claim.attempt_id)[0]
            check_transition("Task", task["status"], "awaiting_qc")
            check_transition("Attempt", found["status"], "awaiting_qc")
            tx.run("attempt_set", attemptId=claim.attempt_id, properties=row)
            tx.run("task_status", taskId=claim.task.id, status="awaiting_qc")

        self._connection.write(work)

    def record_checks(self, claim: Claim, checks: Sequence[Check]) -> None:
        """Attach checks to the attempt, with what they showed. Raises StaleFenceError."""
        rows = [self._check_row(check) for check in checks]

        def work(tx: Transaction) -> None:
            repository = fence(tx, claim.attempt_id, claim.fence)["repository"]
            tx.run("checks_store", attemptId=claim.attempt_id, rows=rows)
            if shown := [row for check in checks for row in self._failure_rows(check, repository)]:
                tx.run("failures_store", rows=shown)

        self._connection.write(work)

    def record_baseline(self, baseline: Baseline) -> None:
        """Attach a baseline with its checks, and what they showed, to its run."""
        row = self._row(
            baseline,
            without=("checks",),
            id=baseline.id,
            name=f"Baseline at {baseline.commit[:12]}",
            durationMs=baseline.duration_ms,
            testsCollected=baseline.tests_collected,
        )
        rows = [self._check_row(check) for check in baseline.checks]

        def work(tx: Transaction) -> None:
            stored = tx.run("baseline_store", runId=baseline.run_id, baseline=row, rows=rows)
            repository = stored[0]["repository"] if stored else ""
            if shown := [row for check in baseline.checks for row in self._failure_rows(check, repository)]:
                tx.run("failures_store", rows=shown)

        self._connection.write(work)

    def history(self, task_id: str) -> tuple[AttemptSummary, ...]:
        """A task's attempts, oldest first."""
        return tuple(self.attempt(row["id"]) for row in self._rows("history_read", taskId=task_id))

    def attempt(self, attempt_id: str) -> AttemptSummary:
        """One attempt, with its checks and findings (each once: the gates', and those of its newest review with a
        verdict, else of all its reviews). Raises UserError for an unknown id."""

        def work(tx: Transaction) -> AttemptSummary:
            rows = tx.run("attempt_read", attemptId=attempt_id)
            if not rows:
                raise UserError(
                    f"There is no attempt {attempt_id}.",
                    next_step="`orchestrate list runs` names the runs, whose attempts show lists.",
                )
            stored, decided, merged = _of_today(rows[0]["attempt"]), rows[0]["decision"], rows[0]["merge"]
            found = self._findings(tx, "attempt_findings", attemptId=attempt_id)
            raised = self._findings(tx, "attempt_raised", attemptId=attempt_id)
            return self._build(
                AttemptSummary,
                stored,
                usage=build(Usage, stored),
                findings=tuple(dict.fromkeys(found + raised)),
                decision=self._build(Decision, decided) if decided else None,
                merge_decision=self._build(Decision, merged) if merged else None,
                reviews=rows[0]["reviews"],
                checks=self._checks(tx, attempt_id),
            )

        return self._connection.read(work)

    def fixes(self, task_id: str) -> tuple[Fix, ...]:
        """What was mended in a task, oldest first."""
        return tuple(self._build(Fix, row["fix"]) for row in self._rows("fixes_read", taskId=task_id))

    def accepted_calls(self, repository_id: str) -> Mapping[str, tuple[int, ...]]:
        """The tool calls of each accepted attempt in a repository, by the kind of its task."""
        rows = self._rows("accepted_calls", repositoryId=repository_id)
        return {row["kind"]: tuple(row["calls"]) for row in rows}

    def _write(self, claim: Claim, statements: Mapping[str, Row]) -> None:
        """Run statements about the attempt, each with its parameters, in one transaction behind its fence."""

        def work(tx: Transaction) -> None:
            fence(tx, claim.attempt_id, claim.fence)
            for name, parameters in statements.items():
                tx.run(name, attemptId=claim.attempt_id, **parameters)

        self._connection.write(work)

    def _check_row(self, check: Check) -> Row:
        """Of the tests their numbers alone: there may be thousands."""
        ran, skipped = (check.tests.number, len(check.tests.skipped)) if check.tests else (None, None)
        name = check.command[:60]
        return self._row(check, without=("failures", "tests"), name=name, testsRan=ran, testsSkipped=skipped)

    def _failure_rows(self, check: Check, repository: str) -> Iterator[Row]:
        for position, shown in enumerate(check.failures):
            failure = shown.failure
            name = failure.test_name or failure.locus or failure.command
            row = self._row(failure, id=f"{repository}:{failure.fingerprint}", name=name[:60], repository=repository)
            told = {"count": shown.count, "flaky": shown.flaky, "position": position}
            yield {"check": check.id, "id": row["id"], "failure": row, "told": told}

    def _checks(self, tx: Transaction, attempt_id: str) -> tuple[Check, ...]:
        shown: dict[str, list[ShownFailure]] = {}
        for row in tx.run("attempt_failures", attemptId=attempt_id):
            found = ShownFailure(self._build(Failure, row["failure"]), row["count"], flaky=row["flaky"])
            shown.setdefault(row["check"], []).append(found)
        checks = tx.run("attempt_checks", attemptId=attempt_id)
        return tuple(
            self._build(Check, row["check"], failures=tuple(shown.get(row["check"]["id"], ()))) for row in checks
        )


def _of_today(stored: Row) -> Row:
    """An older release told by stage 2 that the attempt before was stopped; it knew no stages of convergence."""
    if stored.get("strategy") is None and stored["stage"] == 2:
        return stored | {"stage": 1, "strategy": "after_stop"}
    return stored
