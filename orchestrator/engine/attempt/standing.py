"""Where a task stands before its next attempt: its stage, folded from what rejected the earlier ones in any run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from orchestrator.domain.attempt import AttemptSummary, Strategy, VerificationResult
from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.ports import Workspaces
from orchestrator.domain.run import Claim
from orchestrator.domain.task import Task
from orchestrator.domain.workspace import FileChange
from orchestrator.engine.services import Services
from orchestrator.gates.convergence import Convergence, Ground, changed_since, convergence, rejected_passes
from orchestrator.gates.progress import Effort
from orchestrator.gates.stage import stage_paths

_AT_THE_BEGINNING = Convergence()


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a task stands, and the rejected attempts that this is folded from."""

    convergence: Convergence = _AT_THE_BEGINNING
    rejected: tuple[AttemptSummary, ...] = ()


def standing(services: Services, claim: Claim, history: Sequence[AttemptSummary], base: str) -> Standing:
    """Where the claimed task stands, begun anew where a person has had it tried again or changed what it is tried on
    since; the attempt is going to stand on the commit `base`."""
    task = claim.task
    past = [attempt for attempt in history if task.retried_after < attempt.number < claim.number]
    rejected = [attempt for attempt in past if attempt.status == "rejected" and attempt.decision is not None]
    if rejected and changed_since(rejected[-1], ground_of(services, task, base), claim.run_id):
        return Standing()
    found = convergence(rejected_passes(past), services.settings.convergence).taken_up
    return Standing(found, tuple(rejected[len(rejected) - found.passes :]))


def held_paths(services: Services, task: Task, stands: Standing, allowed_paths: tuple[str, ...]) -> tuple[str, ...]:
    """The allowed paths as the task's stage narrows them."""
    limits = services.settings.convergence.at(stands.convergence.stage)
    if limits is None:
        return allowed_paths
    return stage_paths(task, allowed_paths, _changed(services.workspaces, stands.rejected), limits)


def _changed(workspaces: Workspaces, rejected: Sequence[AttemptSummary]) -> Iterator[FileChange]:
    for attempt in rejected:
        if attempt.base_commit and attempt.decision:
            yield from workspaces.changes(workspaces.tree_of(attempt.base_commit), attempt.decision.diff_hash)


def effort_of(
    services: Services,
    claim: Claim,
    earlier: Sequence[AttemptSummary],
    status: AttemptStatus,
    verified: VerificationResult | None,
) -> Effort:
    """What the task has used with the claimed attempt, which ends with this status: as it is recorded, and with its
    check pass where no check was run in it."""
    recorded = services.reader.attempt(claim.attempt_id)
    effort = Effort.of((*earlier, replace(recorded, status=status)))
    more = verified is not None and verified.id not in recorded.passes
    return replace(effort, check_passes=effort.check_passes + more)


def ground_of(services: Services, task: Task, base: str) -> Ground:
    """What an attempt of the task is made on now, on the commit `base`."""
    return Ground(
        prompt=task.words_hash,
        model=task.model or services.settings.models.worker.name,
        budget=task.tool_call_budget,
        paths=task.paths,
        base=base,
    )


def strategy_after(previous: AttemptSummary | None) -> Strategy:
    """How an attempt begins that is told of `previous`."""
    if previous is None:
        return "first"
    if previous.status == "rejected":
        return "after_rejection"
    return "after_stop" if previous.status == "stopped" or previous.stop_reason == "gave_up" else "first"
