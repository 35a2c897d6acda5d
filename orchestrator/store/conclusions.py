"""The one transaction that ends an attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from orchestrator.domain.attempt import AttemptResult
from orchestrator.domain.errors import StaleFenceError
from orchestrator.domain.finding import Finding
from orchestrator.domain.lifecycle import check_transition
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim
from orchestrator.store.attempts import review_name
from orchestrator.store.connection import Row, Transaction
from orchestrator.store.mapping import instant, iso, properties
from orchestrator.store.records import Records, stale
from orchestrator.store.runs import BARRING, block_dependents, release_dependents


class _HeadMovedError(Exception):
    """Rolls the transaction back: the run's head is not what the merge was built on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """The rows of a conclusion, made before the transaction so that repeating it costs nothing."""

    attempt: Row
    task: Row
    review: Row | None
    criteria: list[Row]
    raised: list[Row]
    found: list[Row]
    decision: Row | None
    diagnosis: Row | None


class Conclusions(Records):
    """How attempts end."""

    def conclude(self, claim: Claim, conclusion: AttemptResult) -> bool:
        """End the attempt in one transaction; blocks or releases dependents. False, with nothing written, when the
        run's head is no longer `head_before`. True again when the same conclusion is repeated. Raises StaleFenceError,
        and TransitionError for a step that lifecycle.py does not have."""
        ending = self._ending(claim, conclusion)
        try:
            return self._connection.write(lambda tx: _conclude(tx, claim, conclusion, ending))
        except _HeadMovedError:
            return False

    def _ending(self, claim: Claim, conclusion: AttemptResult) -> _Ending:
        review, without = conclusion.review, ("criteria", "findings")
        pass_id = conclusion.decision.pass_id if conclusion.decision else None
        return _Ending(
            attempt=self._stored(_attempt_values(conclusion)),
            task=self._stored(_task_values(claim, conclusion)),
            review=self._row(review, without=without, name=review_name(review)) if review else None,
            criteria=self._criteria_rows(review) if review else [],
            raised=self._finding_rows(review.id, review.findings, pass_id) if review else [],
            found=self._finding_rows(claim.attempt_id, conclusion.findings, pass_id),
            decision=self._only_row(claim.attempt_id, "decision", conclusion.decision),
            diagnosis=self._only_row(claim.attempt_id, "diagnosis", conclusion.diagnosis),
        )

    def _criteria_rows(self, review: Review) -> list[Row]:
        return [
            self._row(criterion, id=f"{review.id}:criterion{number}", name=criterion.text[:60], position=number)
            for number, criterion in enumerate(review.criteria)
        ]

    def _finding_rows(self, owner_id: str, findings: Sequence[Finding], pass_id: str | None) -> list[Row]:
        return [
            self._row(finding, id=f"{owner_id}:finding{number}", name=finding.code, position=number, passId=pass_id)
            for number, finding in enumerate(findings)
        ]

    def _only_row(self, attempt_id: str, kind: str, record: Any) -> Row | None:
        name = getattr(record, "decision", kind)
        return None if record is None else self._row(record, id=f"{attempt_id}:{kind}", name=name)


def _attempt_values(conclusion: AttemptResult) -> Row:
    usage = conclusion.usage
    findings = (*conclusion.findings, *(conclusion.review.findings if conclusion.review else ()))
    values = properties(usage) | {
        "filesChanged": conclusion.files_changed,
        "linesChanged": conclusion.lines_changed,
        "status": conclusion.attempt_status,
        "stopReason": conclusion.stop_reason,
        "stopDetail": conclusion.stop_detail,
        "finishedAt": iso(conclusion.at),
        "durationMs": conclusion.duration_ms,
        "tokenCount": usage.tokens,
        "workerOutput": conclusion.worker_output,
        "issues": list(dict.fromkeys(finding.message for finding in findings)),
        "requiredFixes": list(dict.fromkeys(finding.required_fix for finding in findings if finding.required_fix)),
        "errorContextJson": conclusion.error_context,
        "commit": conclusion.commit,
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
    } | _review_values(conclusion.review)


def _review_values(review: Review | None) -> Row:
    if review is None:
        return {"qcPassed": None, "qcScore": None, "qcFeedback": None}
    return {"qcPassed": review.passed, "qcScore": review.score, "qcFeedback": review.feedback}


def _conclude(tx: Transaction, claim: Claim, conclusion: AttemptResult, ending: _Ending) -> bool:
    if _concluded_before(tx, claim, conclusion):
        return True
    _move_head(tx, claim, conclusion)
    dependents = [row["id"] for row in tx.run("dependents_lock", ids=[claim.task.id], by=claim.attempt_id)]
    task = tx.run("task_lock", taskId=claim.task.id, by=claim.attempt_id)[0]
    check_transition("Task", task["status"], conclusion.task_status)
    _write_judgement(tx, claim, ending)
    tx.run("attempt_conclude", attemptId=claim.attempt_id, properties=ending.attempt)
    tx.run("attempt_leftovers", attemptId=claim.attempt_id)
    ready = conclusion.task_status == "pending"
    tx.run("task_conclude", taskId=claim.task.id, properties=ending.task, ready=ready)
    if conclusion.task_status == "completed":
        release_dependents(tx, claim.task.id, dependents)
    elif conclusion.task_status in BARRING:
        block_dependents(tx, claim.task.id, claim.task.key)
    return True


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


def _write_judgement(tx: Transaction, claim: Claim, ending: _Ending) -> None:
    if ending.review is not None:
        review_id = ending.review["id"]
        tx.run("review_store", attemptId=claim.attempt_id, review=ending.review)
        tx.run("criteria_store", reviewId=review_id, rows=ending.criteria)
        tx.run("findings_raised", reviewId=review_id, rows=ending.raised)
    if ending.found:
        tx.run("findings_found", attemptId=claim.attempt_id, rows=ending.found)
    if ending.decision is not None:
        tx.run("decision_store", attemptId=claim.attempt_id, decision=ending.decision)
    if ending.diagnosis is not None:
        tx.run("diagnosis_store", taskId=claim.task.id, diagnosis=ending.diagnosis)
