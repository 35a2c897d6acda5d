"""Where a review is recorded: with an attempt that is under way, behind its fence, or with one that is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from orchestrator.domain.attempt import Check, Owner
from orchestrator.domain.graph_ports import GraphWriter
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim


class ReviewLog(Protocol):
    """What a review records, in order."""

    def begin(self, review: Review) -> None:
        """Create its node, so that its turns can hang on it."""
        ...

    def owner(self, review: Review) -> Owner:
        """Whose its turns are."""
        ...

    def check(self, check: Check) -> None:
        """Attach a command that it cites."""
        ...

    def complete(self, review: Review) -> None:
        """Complete its node with what QC judged and raised."""
        ...


@dataclass(frozen=True, slots=True)
class ClaimedReviews:
    """Reviews of an attempt that this process holds. Each of these raises StaleFenceError when it does no more."""

    writer: GraphWriter
    claim: Claim

    def begin(self, review: Review) -> None:
        """Create its node (ReviewLog)."""
        self.writer.begin_review(self.claim, review)

    def owner(self, review: Review) -> Owner:
        """The attempt's, with its fence (ReviewLog)."""
        return Owner("Review", review.id, self.claim.attempt_id, self.claim.fence)

    def check(self, check: Check) -> None:
        """Attach a command that it cites (ReviewLog)."""
        self.writer.record_checks(self.claim, (check,))

    def complete(self, review: Review) -> None:
        """Complete its node (ReviewLog)."""
        self.writer.record_review(self.claim, review)


@dataclass(frozen=True, slots=True)
class LaterReviews:
    """Reviews of an attempt that was accepted: nobody holds it, and nothing of it changes."""

    writer: GraphWriter
    attempt_id: str

    def begin(self, review: Review) -> None:
        """Create its node (ReviewLog)."""
        self.writer.record_later_review(self.attempt_id, review)

    def owner(self, review: Review) -> Owner:
        """The review alone (ReviewLog)."""
        return Owner("Review", review.id)

    def check(self, check: Check) -> None:
        """It stands with the call that QC made, if it made one, and in what the review says (ReviewLog)."""

    def complete(self, review: Review) -> None:
        """Complete its node (ReviewLog)."""
        self.writer.record_later_review(self.attempt_id, review)
