"""QC asked again about work that was accepted, by a person, and what follows where it finds something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from orchestrator.domain.attempt import AttemptSummary, VerificationResult
from orchestrator.domain.errors import UserError
from orchestrator.domain.plan import Plan
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim
from orchestrator.domain.task import Retry, TaskState
from orchestrator.engine.attempt.record import Deadlines
from orchestrator.engine.attempt.review import ReviewedWork, Reviewing, end_by_verifier
from orchestrator.engine.attempt.review_log import LaterReviews
from orchestrator.engine.services import Services


@dataclass(frozen=True, slots=True)
class LaterReview:
    """What QC holds of a task's accepted work; `detail` says why there is no verdict where there is none."""

    state: TaskState
    review: Review | None
    detail: str = ""

    @property
    def passed(self) -> bool | None:
        """QC's verdict; None without one."""
        return self.review.passed if self.review else None


def later_reviews(services: Services, plan: Plan, *, task_id: str = "", run_id: str = "") -> Iterator[LaterReview]:
    """QC over the accepted work of a task as it was merged, or over all that a run has merged as it stands at the run's
    head; one after the other. Raises UserError where nothing was accepted, and the error of an endpoint that cannot be
    reached."""
    head = services.reader.run(run_id).head_commit if run_id else None
    wanted = [state for state in services.reader.tasks(plan.id) if not task_id or state.task.id == task_id]
    accepted = [(state, work) for state in wanted if (work := _accepted(services, state, run_id)) is not None]
    if not accepted:
        raise UserError(
            "Nothing of this was accepted, so there is nothing to review.", next_step="See `orchestrate status`."
        )
    for state, work in accepted:
        yield _reviewed(services, plan, state, work, head or work.commit or "")


def reopen(services: Services, found: LaterReview) -> Retry:
    """Make the completed task of a review that did not pass pending: its next worker is told what blocks."""
    assert found.review is not None  # noqa: S101  the caller looked
    retry = Retry(
        id=services.ids.new("y"),
        task_id=found.state.task.id,
        task_key=found.state.task.key,
        at=services.clock.now(),
        review_id=found.review.id,
    )
    services.writer.retry_task(found.state.task.plan_id, retry)
    return retry


def _accepted(services: Services, state: TaskState, run_id: str) -> AttemptSummary | None:
    history: Sequence[AttemptSummary] = services.reader.history(state.task.id)
    merged = [attempt for attempt in history if attempt.status == "accepted" and attempt.commit]
    return next((attempt for attempt in reversed(merged) if run_id in ("", attempt.run_id)), None)


def _reviewed(services: Services, plan: Plan, state: TaskState, work: AttemptSummary, at: str) -> LaterReview:
    """`at` is the commit over which QC looks."""
    workspaces, log = services.workspaces, LaterReviews(services.writer, work.id)
    tree, name = workspaces.tree_of(at), f"{work.id}:{services.ids.new('v')}"
    with closing(workspaces.open(name, at, head=at, plan_id=plan.id)) as checkout:
        asking = Reviewing(
            services=services,
            plan=plan,
            claim=_as_claimed(state, work),
            worker_output=work.worker_output,
            meter=None,
            deadlines=Deadlines(None, None),
            log=log,
            anew=True,
        )
        checks = tuple(check for check in work.checks if check.tree == tree and check.phase != "review")
        seen = ReviewedWork(
            tree=tree,
            diff=checkout.diff(workspaces.tree_of(f"{work.commit}^"), workspaces.tree_of(work.commit or at)),
            checkout=checkout,
            verified=VerificationResult(id=name, tree=tree, checks=checks),
            name=name,
        )
        end = end_by_verifier(asking, seen)
    if end.halt is not None:
        raise end.halt
    return LaterReview(state, end.review, end.stop_detail)


def _as_claimed(state: TaskState, work: AttemptSummary) -> Claim:
    """The attempt as a review names it: nobody holds it, and nothing is written behind its fence."""
    return Claim(
        run_id=work.run_id,
        task=state.task,
        attempt_id=work.id,
        number=work.number,
        fence=0,
        owner="",
        at=work.started_at,
    )
