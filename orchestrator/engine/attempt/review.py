"""One QC review: the assignment with evidence, the conversation, the rules over the answer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace

from orchestrator.domain.assignment import DependencyResult, ReviewAssignment
from orchestrator.domain.attempt import Owner
from orchestrator.domain.errors import ModelError, RunBoundError
from orchestrator.domain.ports import Workspace
from orchestrator.domain.progress import ReviewStarted
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim
from orchestrator.engine.attempt.verification import VerificationResult
from orchestrator.engine.loop.conversation import ConversationResult, Subject
from orchestrator.engine.loop.dialogue import converse
from orchestrator.engine.loop.metering import Meter, halts
from orchestrator.engine.services import Services
from orchestrator.gates.review import ReviewInvalidError, judge_review

_TRIES = 2


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """A review that counts, or why there is none: `error` says it, `model_error` when the endpoint was the cause and
    `bound` when the run's own bound was. `unproven`: its claimed pass fails for want of evidence alone."""

    review: Review | None
    error: str = ""
    model_error: ModelError | None = None
    interrupted: bool = False
    bound: RunBoundError | None = None
    unproven: bool = False

    @property
    def again(self) -> bool:
        """Whether QC may be asked once more: its answer was no review, for no reason that would hold again, or a pass
        with gaps in its evidence."""
        if self.review is not None:
            return self.unproven
        return self.model_error is None and self.bound is None and not self.interrupted


def review_attempt(
    services: Services,
    claim: Claim,
    workspace: Workspace,
    passed: VerificationResult,
    *,
    goal: str,
    worker_output: str,
    diff: str,
    dependencies: tuple[DependencyResult, ...],
    meter: Meter,
) -> ReviewResult:
    """Ask QC, at most twice when its answer decides nothing or leaves criteria without evidence; fails closed."""
    assignment = ReviewAssignment(
        goal=goal,
        task=claim.task,
        worker_output=worker_output,
        diff=diff,
        checks=passed.checks,
        dependencies=dependencies,
        strictness=services.settings.review.strictness,
        budget=services.settings.budgets.verifier,
        number=claim.number,
    )
    reviewed = ReviewResult(None)
    for number in range(1, _TRIES + 1):
        reviewed = _ask(services, claim, workspace, assignment, passed, meter, number)
        if not reviewed.again:
            break
    return reviewed


def _ask(
    services: Services,
    claim: Claim,
    workspace: Workspace,
    assignment: ReviewAssignment,
    passed: VerificationResult,
    meter: Meter,
    number: int,
) -> ReviewResult:
    session = services.verifier.begin(assignment, workspace)
    opened = _opened(services, claim, session.model, assignment, passed, number)
    services.writer.begin_review(claim, opened)
    subject = Subject(claim.task.key, claim.number)
    services.listener(ReviewStarted(opened.at, subject.task, subject.attempt, session.model))
    ending, totals, duration_ms = converse(
        services,
        role="verifier",
        session=session,
        owner=Owner("Review", opened.id, claim.attempt_id, claim.fence),
        workspace=workspace,
        meter=meter,
        subject=subject,
        budget=assignment.budget,
    )
    if ending.reason != "submitted":
        return _none(ending)
    try:
        judged = judge_review(ending.arguments, opened.strictness, services.settings.review.threshold)
    except ReviewInvalidError as invalid:
        return ReviewResult(None, f"QC's answer is no review: {invalid}.")
    return ReviewResult(
        replace(
            opened,
            passed=judged.passed,
            score=judged.score,
            feedback=judged.feedback,
            criteria=judged.criteria,
            findings=judged.findings,
            prompt_tokens=totals.prompt_tokens,
            completion_tokens=totals.completion_tokens,
            tool_call_count=totals.calls,
            duration_ms=duration_ms,
            at=services.clock.now(),
        ),
        unproven=judged.unproven,
    )


def _none(ending: ConversationResult) -> ReviewResult:
    return ReviewResult(
        None,
        f"QC gave no review: {ending.reason}. {ending.detail}",
        model_error=ending.error,
        interrupted=ending.reason == "interrupted",
        bound=halts(ending.stop),
    )


def _opened(
    services: Services, claim: Claim, model: str, assignment: ReviewAssignment, passed: VerificationResult, number: int
) -> Review:
    return Review(
        id=f"{claim.attempt_id}:review" + ("" if number == 1 else str(number)),
        passed=None,
        score=None,
        feedback="",
        strictness=services.settings.review.strictness,
        model=model,
        content_hash=content_hash(assignment, passed.tree),
        prompt_tokens=0,
        completion_tokens=0,
        tool_call_count=0,
        duration_ms=0.0,
        at=services.clock.now(),
    )


def content_hash(assignment: ReviewAssignment, tree: str) -> str:
    """What a verdict is bound to: the tree, the criteria and the strictness."""
    task = assignment.task
    bound = [tree, task.prompt, task.acceptance_criteria, dict(task.verification_criteria), assignment.strictness]
    return hashlib.sha256(json.dumps(bound, sort_keys=True).encode()).hexdigest()[:32]
