"""QC's reviews of one attempt: the assignment with what was executed, the conversation, the rules over the answer, and
a look at what it cites."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace

from orchestrator.domain.assignment import ReviewAssignment
from orchestrator.domain.attempt import VerificationResult
from orchestrator.domain.plan import Plan
from orchestrator.domain.ports import Session, Workspace
from orchestrator.domain.progress import ReviewStarted
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim
from orchestrator.engine.attempt.assignment import dependency_results
from orchestrator.engine.attempt.evidence import EvidenceSearch
from orchestrator.engine.attempt.record import Deadlines
from orchestrator.engine.attempt.result import AttemptEnd, AttemptEnded
from orchestrator.engine.attempt.resume import Start
from orchestrator.engine.attempt.review_log import ReviewLog
from orchestrator.engine.loop.conversation import ConversationResult
from orchestrator.engine.loop.dialogue import Dialogue, converse
from orchestrator.engine.loop.metering import Meter, halts, stops_task
from orchestrator.engine.loop.progress import ProgressFeed
from orchestrator.engine.services import Services
from orchestrator.gates.review import GAPS, MOST_REVIEWS, Judgement, ReviewInvalidError, judge_review, read_remarks


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewing:
    """What every review of one attempt is made with."""

    services: Services
    plan: Plan
    claim: Claim
    worker_output: str
    meter: Meter | None
    deadlines: Deadlines
    log: ReviewLog
    anew: bool = False
    """Whether QC is asked though it has said what it holds of the very same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedWork:
    """What QC sees: the content `tree` in `checkout`, what of it is this work, and how that was verified. `name` is the
    beginning of its reviews' ids."""

    tree: str
    diff: str
    checkout: Workspace
    verified: VerificationResult
    name: str


def work_as_checked(claim: Claim, start: Start, verified: VerificationResult, checkout: Workspace) -> ReviewedWork:
    """The work as it was handed in and verified."""
    diff = checkout.diff(start.base_tree, verified.tree)
    return ReviewedWork(tree=verified.tree, diff=diff, checkout=checkout, verified=verified, name=claim.attempt_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewResult:
    """How the attempt ends by QC's answer, with the answer as far as it can be read. `again`: asking once more may
    help, since it decides nothing."""

    end: AttemptEnd
    again: bool = False


def ask_verifier(asking: Reviewing, work: ReviewedWork) -> Review:
    """Ask QC, at most twice where its answer decides nothing or claims a pass that it does not show; fails closed, with
    all that it said. What it has said of the same before, since a person had the task tried again, holds again. Raises
    AttemptEnded unless the review passes."""
    end = end_by_verifier(asking, work)
    if end.status != "accepted" or end.review is None:
        raise AttemptEnded(end)
    return end.review


def end_by_verifier(asking: Reviewing, work: ReviewedWork) -> AttemptEnd:
    """What QC's answers come to, as ask_verifier has them."""
    services, claim = asking.services, asking.claim
    assignment = ReviewAssignment(
        goal=asking.plan.goal,
        task=claim.task,
        worker_output=asking.worker_output,
        diff=work.diff,
        checks=work.verified.checks,
        dependencies=dependency_results(services, asking.plan, claim.task, work.checkout),
        strictness=claim.task.strictness or services.settings.review.strictness,
        budget=services.settings.budgets.verifier,
        number=claim.number,
    )
    return _answered(asking, work, assignment)


def _answered(asking: Reviewing, work: ReviewedWork, assignment: ReviewAssignment) -> AttemptEnd:
    """The end by the first answer, or by the second where it may help to ask again; without a verdict it holds what
    both said."""
    first = _ask(asking, work, assignment, number=1)
    if not first.again:
        return first.end
    again = replace(assignment, wanting=_wanting(first.end))
    end = _ask(asking, work, again, number=MOST_REVIEWS).end
    if end.status in ("accepted", "rejected"):
        return end
    if end.review is None:
        return replace(end, review=first.end.review)
    return replace(end, raised_before=first.end.review.findings if first.end.review else ())


def _wanting(first: AttemptEnd) -> tuple[str, ...]:
    """What QC is told of its first answer when it is asked once more."""
    found = first.review.findings if first.review else ()
    return tuple(finding.message for finding in found if finding.code in GAPS) or (first.stop_detail,)


def _ask(asking: Reviewing, work: ReviewedWork, assignment: ReviewAssignment, number: int) -> ReviewResult:
    services = asking.services
    session = services.verifier.begin(assignment, work.checkout)
    opened = _opened(asking, work, assignment, session.model, number)
    if number == 1 and not asking.anew and (known := _known(asking, opened)) is not None:
        return _taken_over(asking, work, opened, known)
    asking.log.begin(opened)
    dialogue = _dialogue(asking, work, assignment, session, opened)
    usage = dialogue.usage
    asked = replace(
        opened,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        tool_call_count=usage.tool_call_count,
        duration_ms=dialogue.duration_ms,
        at=services.clock.now(),
    )
    if dialogue.result.reason != "submitted":
        asking.log.complete(asked)
        return _unanswered(dialogue.result, work.verified)
    return _judged(asking, work, asked, dialogue)


def _dialogue(
    asking: Reviewing, work: ReviewedWork, assignment: ReviewAssignment, session: Session, opened: Review
) -> Dialogue:
    services, claim = asking.services, asking.claim
    feed = ProgressFeed(services.listener, claim.task.key, claim.number)
    services.listener(ReviewStarted(at=opened.at, task=feed.task, attempt=feed.attempt, model=session.model))
    return converse(
        services,
        role="verifier",
        session=session,
        owner=asking.log.owner(opened),
        workspace=work.checkout,
        meter=asking.meter,
        feed=feed,
        budget=assignment.budget,
    )


def _known(asking: Reviewing, opened: Review) -> Review | None:
    """An earlier verdict about the very same: no model is asked until it says something else."""
    task = asking.claim.task
    return asking.services.reader.review_bound_to(task.id, opened.content_hash, after=task.retried_after)


def _taken_over(asking: Reviewing, work: ReviewedWork, opened: Review, known: Review) -> ReviewResult:
    review = replace(
        opened,
        passed=known.passed,
        score=known.score,
        feedback=known.feedback,
        cached=True,
        criteria=known.criteria,
        findings=known.findings,
    )
    asking.log.complete(review)
    return ReviewResult(end=AttemptEnd.reviewed(work.verified, review))


def _judged(asking: Reviewing, work: ReviewedWork, asked: Review, dialogue: Dialogue) -> ReviewResult:
    """The rules over QC's answer, and behind a pass a look at what it cites. Without a verdict QC has failed."""
    answer = dialogue.result.arguments
    try:
        judged = _judgement(asking, work, asked, dialogue)
    except ReviewInvalidError as invalid:
        said = read_remarks(answer)
        if said is not None:
            asked = replace(asked, feedback=said.feedback, criteria=said.criteria, findings=said.findings)
        detail = f"QC's answer is no review: {invalid}."
        return _without_verdict(asking, work, asked, detail, told=said is not None)
    review = replace(
        asked,
        passed=judged.passed,
        score=judged.score,
        feedback=judged.feedback,
        criteria=judged.criteria,
        findings=judged.findings,
    )
    if review.passed is None:
        gaps = "; ".join(finding.message for finding in review.findings if finding.code in GAPS)
        return _without_verdict(asking, work, review, f"QC ({review.model}) passes what it does not show: {gaps}")
    asking.log.complete(review)
    return ReviewResult(end=AttemptEnd.reviewed(work.verified, review))


def _judgement(asking: Reviewing, work: ReviewedWork, asked: Review, dialogue: Dialogue) -> Judgement:
    services, task = asking.services, asking.claim.task
    answer, threshold = dialogue.result.arguments, services.settings.review.threshold
    judged = judge_review(answer, asked.strictness, threshold, task.criteria, task.read_criteria)
    if not judged.passed:
        return judged
    search = EvidenceSearch(
        services=services,
        claim=asking.claim,
        checkout=work.checkout,
        deadlines=asking.deadlines,
        log=asking.log,
        review_id=asked.id,
        tree=work.tree,
        known=work.verified.checks,
    )
    return judged.with_evidence(tuple(search.against(judged.proofs)))


def _without_verdict(
    asking: Reviewing, work: ReviewedWork, review: Review, detail: str, *, told: bool = True
) -> ReviewResult:
    """`told`: whether the answer says anything."""
    asking.log.complete(review)
    end = AttemptEnd.failed("review_error", detail, verified=work.verified)
    return ReviewResult(end=replace(end, review=review) if told else end, again=True)


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


def _opened(asking: Reviewing, work: ReviewedWork, assignment: ReviewAssignment, model: str, number: int) -> Review:
    services = asking.services
    return Review(
        id=f"{work.name}:review" + ("" if number == 1 else str(number)),
        passed=None,
        score=None,
        feedback="",
        strictness=assignment.strictness,
        model=model,
        content_hash=_binding(services, work, assignment, model),
        prompt_tokens=0,
        completion_tokens=0,
        tool_call_count=0,
        duration_ms=0.0,
        at=services.clock.now(),
        afterwards=asking.anew or None,
    )


def _binding(services: Services, work: ReviewedWork, assignment: ReviewAssignment, model: str) -> str:
    """What a verdict is bound to, as one hash: it says nothing of another tree, other criteria or rules, another model,
    other instructions, or checks that ended otherwise."""
    task, ended = assignment.task, {(c.command, c.outcome, c.exit_code, c.as_before) for c in assignment.checks}
    bound = {
        "tree": work.tree,
        "task": [task.words_hash, task.qc_role],
        "strictness": assignment.strictness,
        "threshold": services.settings.review.threshold,
        "model": model,
        "preamble": services.verifier.preamble_hash,
        "checks": sorted(map(repr, ended)),
    }
    return hashlib.sha256(json.dumps(bound, sort_keys=True).encode()).hexdigest()[:32]
