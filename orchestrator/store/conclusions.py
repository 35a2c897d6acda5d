"""The one transaction that ends an attempt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC

from orchestrator.domain.attempt import AttemptResult
from orchestrator.domain.errors import StaleFenceError
from orchestrator.domain.lifecycle import check_transition
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim
from orchestrator.store.connection import Row, Transaction
from orchestrator.store.mapping import instant, iso, properties
from orchestrator.store.records import stale
from orchestrator.store.reviews import ReviewRecords
from orchestrator.store.runs import BARRING, block_dependents, release_dependents


class _HeadMovedError(Exception):
    """Rolls the transaction back: the run's head is not what the merge was built on."""


class Conclusions(ReviewRecords):
    """How attempts end."""

    def conclude(self, claim: Claim, conclusion: AttemptResult) -> bool:
        """End the attempt in one transaction; blocks or releases dependents. False, with nothing written, when the
        run's head is no longer `head_before`. True again when the same conclusion is repeated. Raises StaleFenceError,
        and TransitionError for a step that lifecycle.py does not have."""
        attempt, task = self._stored(_attempt_values(conclusion)), self._stored(_task_values(claim, conclusion))
        judgement = list(self._judgement(claim, conclusion))  # before the transaction: repeating that costs nothing

        def work(tx: Transaction) -> bool:
            if _concluded_before(tx, claim, conclusion):
                return True
            _move_head(tx, claim, conclusion)
            dependents = [row["id"] for row in tx.run("dependents_lock", ids=[claim.task.id], by=claim.attempt_id)]
            locked = tx.run("task_lock", taskId=claim.task.id, by=claim.attempt_id)[0]
            check_transition("Task", locked["status"], conclusion.task_status)
            for name, parameters in judgement:
                tx.run(name, **parameters)
            tx.run("attempt_conclude", attemptId=claim.attempt_id, properties=attempt)
            tx.run("attempt_leftovers", attemptId=claim.attempt_id)
            tx.run("task_conclude", taskId=claim.task.id, properties=task, ready=conclusion.task_status == "pending")
            if conclusion.task_status == "completed":
                release_dependents(tx, claim.task.id, dependents)
            elif conclusion.task_status in BARRING:
                block_dependents(tx, claim.task.id, claim.task.key)
            return True

        try:
            return self._connection.write(work)
        except _HeadMovedError:
            return False

    def _judgement(self, claim: Claim, conclusion: AttemptResult) -> Iterator[tuple[str, Row]]:
        """The statements that write review, findings, decision and report, with their parameters."""
        id_, review, decision, report = claim.attempt_id, conclusion.review, conclusion.decision, conclusion.diagnosis
        pass_id = decision.pass_id if decision else None
        if review is not None:
            yield from self._review_statements(id_, review, pass_id)
        if conclusion.findings:
            rows = self._finding_rows(id_, conclusion.findings, pass_id)
            yield "findings_found", {"attemptId": id_, "rows": rows}
        if decision is not None:
            row = self._row(decision, id=f"{id_}:decision", name=decision.decision)
            yield "decision_store", {"attemptId": id_, "decision": row}
        if conclusion.fixes:
            rows = [
                self._row(fix, id=f"{id_}:fix{number}", name=f"{fix.code} in {fix.path}"[:60])
                for number, fix in enumerate(conclusion.fixes)
            ]
            yield "fixes_store", {"taskId": claim.task.id, "rows": rows}
        if (first_seq := _first_seq(conclusion)) is not None:
            yield "stop_origin", {"attemptId": id_, "firstSeq": first_seq}
        if conclusion.merge_decision is not None:
            row = self._row(conclusion.merge_decision, id=f"{id_}:merge", name=conclusion.merge_decision.decision)
            yield "decision_store", {"attemptId": id_, "decision": row}
        if report is not None:
            row = self._row(report, id=f"{id_}:diagnosis", name="diagnosis")
            yield "diagnosis_store", {"taskId": claim.task.id, "diagnosis": row}


def _first_seq(conclusion: AttemptResult) -> int | None:
    """Where what stopped the attempt began; None where nothing did, or that is not in it."""
    guard = conclusion.error_context.get("guard")
    return guard["firstSeq"] if guard else None


def _attempt_values(conclusion: AttemptResult) -> Row:
    usage = conclusion.usage
    values = properties(usage, without=("reserved_tokens", "reserved_usd")) | {
        "filesChanged": conclusion.files_changed,
        "linesChanged": conclusion.lines_changed,
        "status": conclusion.attempt_status,
        "stopReason": conclusion.stop_reason,
        "stopDetail": conclusion.stop_detail,
        "finishedAt": iso(conclusion.at),
        "durationMs": conclusion.duration_ms,
        "tokenCount": usage.tokens,
        "workerOutput": conclusion.worker_output,
        "issues": conclusion.issues,
        "requiredFixes": conclusion.required_fixes,
        "errorContextJson": conclusion.error_context,
        "commit": conclusion.commit,
        "outcome": conclusion.outcome,
    }
    if conclusion.tree_after is not None:
        values["treeAfter"] = conclusion.tree_after
    return values | _review_values(conclusion.review)


def _task_values(claim: Claim, conclusion: AttemptResult) -> Row:
    usage = conclusion.usage
    return {
        "status": conclusion.task_status,
        "stopReason": conclusion.task_stop_reason,
        "attemptNumber": claim.number,
        "toolCallCount": usage.tool_call_count,
        "durationMs": conclusion.duration_ms,
        "tokenCount": usage.tokens,
        "workerOutput": conclusion.worker_output,
        "errorContextJson": conclusion.error_context,
    } | _review_values(conclusion.review)


def _review_values(review: Review | None) -> Row:
    if review is None:
        return {"qcPassed": None, "qcScore": None, "qcFeedback": None}
    return {"qcPassed": review.passed, "qcScore": review.score, "qcFeedback": review.feedback}


def _concluded_before(tx: Transaction, claim: Claim, conclusion: AttemptResult) -> bool:
    """Lock and fence; whether this very conclusion was written already (its acknowledgement was lost)."""
    rows = tx.run("attempt_touch", attemptId=claim.attempt_id, by=str(claim.fence))
    if not rows:
        raise StaleFenceError(f"Attempt {claim.attempt_id} is not in the graph.")
    found = rows[0]
    if found["fence"] != claim.fence:
        raise stale(claim.attempt_id, claim.fence, found)
    if found["finishedAt"] is not None:
        same = found["status"] == conclusion.attempt_status
        if same and instant(found["finishedAt"]) == conclusion.at.astimezone(UTC):
            return True
        raise stale(claim.attempt_id, claim.fence, found)
    check_transition("Attempt", found["status"], conclusion.attempt_status)
    return False


def _move_head(tx: Transaction, claim: Claim, conclusion: AttemptResult) -> None:
    if conclusion.commit is None:
        return
    run = tx.run("run_lock", runId=claim.run_id, by=claim.attempt_id)[0]
    if run["headCommit"] != conclusion.head_before:
        raise _HeadMovedError
    tx.run("run_head", runId=claim.run_id, head=conclusion.commit)
