"""One QC review: the assignment with evidence, the conversation, the rules over the answer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace

from orchestrator.domain.assignment import ReviewAssignment
from orchestrator.domain.attempt import Owner, VerificationResult
from orchestrator.domain.plan import Plan
from orchestrator.domain.ports import Workspace
from orchestrator.domain.progress import ReviewStarted
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim
from orchestrator.engine.attempt.assignment import dependency_results
from orchestrator.engine.attempt.result import AttemptEnd, AttemptEnded
from orchestrator.engine.attempt.resume import Start, Work
from orchestrator.engine.loop.conversation import ConversationResult
from orchestrator.engine.loop.dialogue import Dialogue, converse
from orchestrator.engine.loop.metering import Meter, halts
from orchestrator.engine.loop.progress import ProgressFeed
from orchestrator.engine.services import Services
from orchestrator.gates.review import MOST_REVIEWS, ReviewInvalidError, judge_review


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewResult:
    """A review that counts, or why there is none in `error`. `unproven`: its claimed pass fails for want of evidence
    alone, which is asked for once more."""

    review: Review | None = None
    error: str = ""
    unproven: bool = False


def ask_verifier(
    services: Services,
    plan: Plan,
    claim: Claim,
    start: Start,
    work: Work,
    verified: VerificationResult,
    checkout: Workspace,
    meter: Meter | None,
) -> Review:
    """Ask QC, at most twice when its answer decides nothing or leaves criteria without evidence; fails closed. Raises
    AttemptEnded unless the review passes."""
    assignment = ReviewAssignment(
        goal=plan.goal,
        task=claim.task,
        worker_output=work.output,
        diff=checkout.diff(start.base_tree, work.tree),
        checks=verified.checks,
        dependencies=dependency_results(services, plan, claim.task, checkout),
        strictness=services.settings.review.strictness,
        budget=services.settings.budgets.verifier,
        number=claim.number,
    )
    result = ReviewResult()
    for number in range(1, MOST_REVIEWS + 1):
        result = _ask(services, claim, checkout, assignment, verified, meter, number)
        if result.review is not None and not result.unproven:
            break
        assignment = replace(assignment, wanting=_wanting(result))
    if result.review is None:
        raise AttemptEnded(AttemptEnd.failed("review_error", result.error, verified=verified))
    end = AttemptEnd.reviewed(verified, result.review)
    if end.status != "accepted":
        raise AttemptEnded(end)
    return result.review


def _wanting(result: ReviewResult) -> tuple[str, ...]:
    """What QC is told of its first answer when it is asked once more."""
    return tuple(finding.message for finding in result.review.findings) if result.review else (result.error,)


def _ask(
    services: Services,
    claim: Claim,
    checkout: Workspace,
    assignment: ReviewAssignment,
    verified: VerificationResult,
    meter: Meter | None,
    number: int,
) -> ReviewResult:
    session = services.verifier.begin(assignment, checkout)
    opened = _opened(services, claim, session.model, assignment, verified, number)
    services.writer.begin_review(claim, opened)
    feed = ProgressFeed(services.listener, claim.task.key, claim.number)
    services.listener(ReviewStarted(at=opened.at, task=feed.task, attempt=feed.attempt, model=session.model))
    dialogue = converse(
        services,
        role="verifier",
        session=session,
        owner=Owner("Review", opened.id, claim.attempt_id, claim.fence),
        workspace=checkout,
        meter=meter,
        feed=feed,
        budget=assignment.budget,
    )
    ended = dialogue.result
    if ended.reason == "submitted":
        return _judged(services, opened, dialogue, assignment.task.criteria)
    _raise_if_final(ended, verified)
    return ReviewResult(error=_no_review(ended))


def _judged(services: Services, opened: Review, dialogue: Dialogue, asked: tuple[str, ...]) -> ReviewResult:
    """The rules over QC's answer."""
    try:
        judged = judge_review(dialogue.result.arguments, opened.strictness, services.settings.review.threshold, asked)
    except ReviewInvalidError as invalid:
        return ReviewResult(error=f"QC's answer is no review: {invalid}.")
    review = replace(
        opened,
        passed=judged.passed,
        score=judged.score,
        feedback=judged.feedback,
        criteria=judged.criteria,
        findings=judged.findings,
        prompt_tokens=dialogue.usage.prompt_tokens,
        completion_tokens=dialogue.usage.completion_tokens,
        tool_call_count=dialogue.usage.tool_call_count,
        duration_ms=dialogue.duration_ms,
        at=services.clock.now(),
    )
    return ReviewResult(review=review, unproven=judged.unproven)


def _raise_if_final(ended: ConversationResult, verified: VerificationResult) -> None:
    """What would hold again if QC were asked once more ends the attempt, through no fault of the work or of QC."""
    if ended.reason == "interrupted":
        raise AttemptEnded(AttemptEnd.interrupted(ended.detail, verified=verified))
    if bound := halts(ended.stop):  # under a higher bound QC is asked again
        raise AttemptEnded(AttemptEnd.interrupted(_no_review(ended), verified=verified, halt=bound))
    if ended.error is not None:
        raise AttemptEnded(AttemptEnd.failed("model_error", _no_review(ended), verified=verified, halt=ended.error))


def _no_review(ended: ConversationResult) -> str:
    return f"QC gave no review: {ended.reason}. {ended.detail}"


def _opened(
    services: Services,
    claim: Claim,
    model: str,
    assignment: ReviewAssignment,
    verified: VerificationResult,
    number: int,
) -> Review:
    return Review(
        id=f"{claim.attempt_id}:review" + ("" if number == 1 else str(number)),
        passed=None,
        score=None,
        feedback="",
        strictness=services.settings.review.strictness,
        model=model,
        content_hash=content_hash(assignment, verified.tree),
        prompt_tokens=0,
        completion_tokens=0,
        tool_call_count=0,
        duration_ms=0.0,
        at=services.clock.now(),
    )


def content_hash(assignment: ReviewAssignment, tree: str) -> str:
    """What a verdict is bound to: the tree, the criteria and the strictness."""
    task = assignment.task
    bound = [tree, task.prompt, task.criteria, assignment.strictness]
    return hashlib.sha256(json.dumps(bound, sort_keys=True).encode()).hexdigest()[:32]
