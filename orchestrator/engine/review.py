"""One QC review: the assignment with evidence, the conversation, the rules over the answer (R2.5, R2.6)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace

from orchestrator.domain.errors import ModelError, RunBoundError
from orchestrator.domain.ports import DependencyResult, ReviewAssignment, Workspace
from orchestrator.domain.progress import ReviewStarted
from orchestrator.domain.records import Claim, Owner, Review
from orchestrator.engine.checkpass import CheckPass
from orchestrator.engine.conversation import Ending, Subject
from orchestrator.engine.dialogue import converse
from orchestrator.engine.parts import Parts
from orchestrator.engine.purse import Purse, halts
from orchestrator.gates.review import ReviewInvalidError, judge_review

_TRIES = 2


@dataclass(frozen=True, slots=True)
class Reviewed:
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
    parts: Parts,
    claim: Claim,
    workspace: Workspace,
    passed: CheckPass,
    *,
    goal: str,
    worker_output: str,
    diff: str,
    dependencies: tuple[DependencyResult, ...],
    purse: Purse,
) -> Reviewed:
    """Ask QC, at most twice when its answer decides nothing or leaves criteria without evidence; fails closed."""
    assignment = ReviewAssignment(
        goal=goal,
        task=claim.task,
        worker_output=worker_output,
        diff=diff,
        checks=passed.checks,
        dependencies=dependencies,
        strictness=parts.settings.review.strictness,
        budget=parts.settings.budgets.verifier,
        number=claim.number,
    )
    reviewed = Reviewed(None)
    for number in range(1, _TRIES + 1):
        reviewed = _ask(parts, claim, workspace, assignment, passed, purse, number)
        if not reviewed.again:
            break
    return reviewed


def _ask(
    parts: Parts,
    claim: Claim,
    workspace: Workspace,
    assignment: ReviewAssignment,
    passed: CheckPass,
    purse: Purse,
    number: int,
) -> Reviewed:
    session = parts.reviewer.begin(assignment, workspace)
    opened = _opened(parts, claim, session.model, assignment, passed, number)
    parts.writer.begin_review(claim, opened)
    subject = Subject(claim.task.key, claim.number)
    parts.listener(ReviewStarted(opened.at, subject.task, subject.attempt, session.model))
    ending, totals, duration_ms = converse(
        parts,
        role="verifier",
        session=session,
        owner=Owner("Review", opened.id, claim.attempt_id, claim.fence),
        workspace=workspace,
        purse=purse,
        subject=subject,
        budget=assignment.budget,
    )
    if ending.reason != "submitted":
        return _none(ending)
    try:
        judged = judge_review(ending.arguments, opened.strictness, parts.settings.review.threshold)
    except ReviewInvalidError as invalid:
        return Reviewed(None, f"QC's answer is no review: {invalid}.")
    return Reviewed(
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
            at=parts.clock.now(),
        ),
        unproven=judged.unproven,
    )


def _none(ending: Ending) -> Reviewed:
    return Reviewed(
        None,
        f"QC gave no review: {ending.reason}. {ending.detail}",
        model_error=ending.error,
        interrupted=ending.reason == "interrupted",
        bound=halts(ending.stop),
    )


def _opened(
    parts: Parts, claim: Claim, model: str, assignment: ReviewAssignment, passed: CheckPass, number: int
) -> Review:
    return Review(
        id=f"{claim.attempt_id}:review" + ("" if number == 1 else str(number)),
        passed=None,
        score=None,
        feedback="",
        strictness=parts.settings.review.strictness,
        model=model,
        content_hash=content_hash(assignment, passed.tree),
        prompt_tokens=0,
        completion_tokens=0,
        tool_call_count=0,
        duration_ms=0.0,
        at=parts.clock.now(),
    )


def content_hash(assignment: ReviewAssignment, tree: str) -> str:
    """What a verdict is bound to: the tree, the criteria and the strictness (decision 7)."""
    task = assignment.task
    bound = [tree, task.prompt, task.acceptance_criteria, dict(task.verification_criteria), assignment.strictness]
    return hashlib.sha256(json.dumps(bound, sort_keys=True).encode()).hexdigest()[:32]
