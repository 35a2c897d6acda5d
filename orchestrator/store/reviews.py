"""Reviews: how they are written and read back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.domain.finding import Finding
from orchestrator.domain.review import Criterion, Review
from orchestrator.domain.run import Claim
from orchestrator.store.connection import Row, Transaction
from orchestrator.store.records import Records, fence


class ReviewRecords(Records):
    """What a review comes to in the graph, for whoever writes or reads one."""

    def _review_statements(
        self, attempt_id: str, review: Review, pass_id: str | None = None
    ) -> Iterator[tuple[str, Row]]:
        """The statements that write a review with what it judged and raised, with their parameters."""
        yield "review_store", {"attemptId": attempt_id, "review": self._review_row(review)}
        yield "criteria_store", {"reviewId": review.id, "rows": self._criteria_rows(review)}
        yield (
            "findings_raised",
            {"reviewId": review.id, "rows": self._finding_rows(review.id, review.findings, pass_id)},
        )

    def _review_row(self, review: Review) -> Row:
        name = {True: "Review: passed", False: "Review: failed", None: "Review: open"}[review.passed]
        return self._row(review, without=("criteria", "findings"), name=name)

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

    def _findings(self, tx: Transaction, name: str, **parameters: str) -> tuple[Finding, ...]:
        return tuple(self._build(Finding, row["finding"]) for row in tx.run(name, **parameters))


class Reviews(ReviewRecords):
    """QC's reviews of attempts."""

    def begin_review(self, claim: Claim, review: Review) -> None:
        """Create the Review node, so that its turns can hang on it. Raises StaleFenceError."""
        self._store(claim, [("review_store", {"attemptId": claim.attempt_id, "review": self._review_row(review)})])

    def record_review(self, claim: Claim, review: Review) -> None:
        """Create or complete the Review node, with what QC judged and raised. Raises StaleFenceError."""
        self._store(claim, list(self._review_statements(claim.attempt_id, review)))

    def record_later_review(self, attempt_id: str, review: Review) -> None:
        """Create or complete a review of an attempt that was accepted, with what QC judged and raised: nothing of the
        attempt changes, so no fence is needed."""

        def work(tx: Transaction) -> None:
            for name, parameters in statements:
                tx.run(name, **parameters)

        statements = list(self._review_statements(attempt_id, review))
        self._connection.write(work)

    def review_of(self, attempt_id: str) -> Review | None:
        """The attempt's newest review that came to a verdict, else its newest."""
        return self._connection.read(lambda tx: self._read(tx, tx.run("review_read", attemptId=attempt_id)))

    def review_bound_to(self, task_id: str, content_hash: str, *, after: int = 0) -> Review | None:
        """The newest verdict over a task that is bound to the same, of attempts with a number above `after`."""
        bound = {"taskId": task_id, "contentHash": content_hash, "after": after}
        return self._connection.read(lambda tx: self._read(tx, tx.run("review_bound", **bound)))

    def _store(self, claim: Claim, statements: Sequence[tuple[str, Row]]) -> None:
        def work(tx: Transaction) -> None:
            fence(tx, claim.attempt_id, claim.fence)
            for name, parameters in statements:
                tx.run(name, **parameters)

        self._connection.write(work)

    def _read(self, tx: Transaction, rows: Sequence[Row]) -> Review | None:
        if not rows:
            return None
        stored = rows[0]["review"]
        criteria = tx.run("review_criteria", reviewId=stored["id"])
        return self._build(
            Review,
            stored,
            criteria=tuple(self._build(Criterion, row["criterion"]) for row in criteria),
            findings=self._findings(tx, "review_findings", reviewId=stored["id"]),
        )
