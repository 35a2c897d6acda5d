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
from orchestrator.engine.loop.metering import Meter, halts, stops_task
from orchestrator.engine.loop.progress import ProgressFeed
from orchestrator.engine.services import Services
from orchestrator.gates.review import MOST_REVIEWS, ReviewInvalidError, judge_review, read_remarks


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewResult:
    """How the attempt ends by QC's answer, with the answer as far as it can be read. `again`: asking once more may
    help, since it decides nothing, or its claimed pass fails for want of evidence alone."""

    end: AttemptEnd
    again: bool = False


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
    """Ask QC, at most twice when its answer decides nothing or leaves criteria without evidence; fails closed, with all
    that it said. Raises AttemptEnded unless the review passes."""
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
    end = _answered(services, claim, checkout, assignment, verified, meter)
    if end.status != "accepted" or end.review is None:
        raise AttemptEnded(end)
    return end.review


def _answered(
    services: Services,
    claim: Claim,
    checkout: Workspace,
    assignment: ReviewAssignment,
    verified: VerificationResult,
    meter: Meter | None,
) -> AttemptEnd:
    """The end by the first answer, or by the second where it may help to ask again; without a verdict it holds what
    both said."""
    first = _ask(services, claim, checkout, assignment, verified, meter, number=1)
    if not first.again:
        return first.end
    again = replace(assignment, wanting=_wanting(first.end))
    end = _ask(services, claim, checkout, again, verified, meter, number=MOST_REVIEWS).end
    if end.status in ("accepted", "rejected"):
        return end
    return replace(end, review=_together(first.end.review, end.review))


def _together(earlier: Review | None, later: Review | None) -> Review | None:
    """The later answer with what the earlier one found."""
    if earlier is None or later is None:
        return later or earlier
    findings = tuple(dict.fromkeys((*earlier.findings, *later.findings)))
    return replace(later, feedback=later.feedback or earlier.feedback, findings=findings)


def _wanting(first: AttemptEnd) -> tuple[str, ...]:
    """What QC is told of its first answer when it is asked once more."""
    judged = first.review is not None and first.review.passed is not None
    return tuple(f.message for f in first.review.findings) if first.review and judged else (first.stop_detail,)


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
    if dialogue.result.reason == "submitted":
        return _judged(services, opened, dialogue, assignment.task.criteria, verified)
    return _unanswered(dialogue.result, verified)


def _judged(
    services: Services, opened: Review, dialogue: Dialogue, criteria: tuple[str, ...], verified: VerificationResult
) -> ReviewResult:
    """The rules over QC's answer."""
    answer, usage = dialogue.result.arguments, dialogue.usage
    asked = replace(
        opened,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        tool_call_count=usage.tool_call_count,
        duration_ms=dialogue.duration_ms,
        at=services.clock.now(),
    )
    try:
        judged = judge_review(answer, opened.strictness, services.settings.review.threshold, criteria)
    except ReviewInvalidError as invalid:
        end = AttemptEnd.failed("review_error", f"QC's answer is no review: {invalid}.", verified=verified)
        said = read_remarks(answer)
        if said is not None:
            said_all = replace(asked, feedback=said.feedback, criteria=said.criteria, findings=said.findings)
            end = replace(end, review=said_all)
        return ReviewResult(end=end, again=True)
    review = replace(
        asked,
        passed=judged.passed,
        score=judged.score,
        feedback=judged.feedback,
        criteria=judged.criteria,
        findings=judged.findings,
    )
    return ReviewResult(end=AttemptEnd.reviewed(verified, review), again=judged.unproven)


def _unanswered(ended: ConversationResult, verified: VerificationResult) -> ReviewResult:
    """How the attempt ends that QC gave no review of. What would hold again if QC were asked once more ends it at once,
    through no fault of the work or of QC."""
    detail = f"QC gave no review: {ended.reason}. {ended.detail}"
    bound = halts(ended.stop)
    if ended.reason == "interrupted":
        end = AttemptEnd.interrupted(ended.detail, verified=verified)
    elif bound is not None:  # under a higher bound QC is asked again
        end = AttemptEnd.interrupted(detail, verified=verified, halt=bound)
    elif stops_task(ended.stop):  # what the task may use is used up, whoever used it
        end = replace(AttemptEnd.of_conversation(ended), verified=verified)
    elif ended.error is not None:
        end = AttemptEnd.failed("model_error", detail, verified=verified, halt=ended.error)
    else:
        end = replace(AttemptEnd.failed("review_error", detail, verified=verified), stop=ended.stop)
        return ReviewResult(end=end, again=True)
    return ReviewResult(end=replace(end, stop=ended.stop))


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
