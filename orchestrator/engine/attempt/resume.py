"""Where an attempt starts: on which commit, with which content, told what, and with which budget already spent.

After a rejection from the rejected tree, after a stop by a bound or giving up from the run's head;
after an interruption where it was cut off: from the tree behind its last recorded call, its events folded again, so
that no crash loses work or refills a budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from orchestrator.domain.attempt import AttemptSummary, Check, Strategy, VerificationResult
from orchestrator.domain.events import Event, ScopeDecided, ToolFinished
from orchestrator.domain.finding import Finding
from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.ports import Workspaces
from orchestrator.domain.run import Claim
from orchestrator.domain.task import Task
from orchestrator.domain.workspace import FileChange
from orchestrator.engine.services import Services
from orchestrator.gates.convergence import Convergence, Ground, changed_since, convergence, rejected_passes
from orchestrator.gates.progress import Effort
from orchestrator.gates.retry import resumes
from orchestrator.gates.review import GAPS
from orchestrator.gates.stage import stage_paths

if TYPE_CHECKING:
    from orchestrator.engine.attempt.record import AttemptRecord

_AT_THE_BEGINNING = Convergence()


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a worker has handed in: its summary, the tree of its workspace, and the paths that it was allowed to change,
    those granted meanwhile among them."""

    output: str
    tree: str
    allowed_paths: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    """What its task's stage and the memory of fixes hold against it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a task stands, and the rejected attempts that this is folded from."""

    convergence: Convergence = _AT_THE_BEGINNING
    rejected: tuple[AttemptSummary, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """`base` is the commit under the work, `tree` the content to begin with, and `begun` that of the first of those
    that were cut off, where one goes on with these. `standing` is where the task stands. `previous` is the ended
    attempt whose findings are told, and `remarks` are QC's in answers that were no verdict. `inherited` are the events
    of those that were cut off since, `submitted` the one of them whose worker had already handed in: its gates are
    still to be passed."""

    base: str
    base_tree: str
    tree: str
    begun: str
    standing: Standing
    strategy: Strategy
    allowed_paths: tuple[str, ...]
    previous: AttemptSummary | None = None
    remarks: tuple[Finding, ...] = ()
    inherited: tuple[Event, ...] = ()
    last_event_at: datetime | None = None
    submitted: AttemptSummary | None = None
    earlier: tuple[AttemptSummary, ...] = ()
    fixers: tuple[str, ...] = ()
    """The commands that have mended something before a worker is asked."""
    checked: tuple[Check, ...] = ()
    """What they have shown to pass."""

    @property
    def stage(self) -> int:
        """How closely the attempt is held, by its task's convergence."""
        return self.standing.convergence.stage


def find_start(services: Services, claim: Claim) -> Start:
    """Read what became of the task's earlier attempts in this run and decide where this one begins."""
    head = services.reader.run(claim.run_id).head_commit
    history = services.reader.history(claim.task.id)
    earlier = counted_attempts(history, claim)
    cut_off = _trailing_cut_off(earlier)
    before = earlier[: len(earlier) - len(cut_off)]
    previous, goes_on = (before[-1], True) if before else _told_before(claim, history, earlier)
    events = {attempt.id: services.reader.events(attempt.id) for attempt in cut_off}
    inherited = tuple(event for attempt in cut_off for event in events[attempt.id])
    begun = [attempt for attempt in cut_off if attempt.base_commit is not None]  # the others died before they began
    last = begun[-1] if begun else None
    source = last or (previous if goes_on else None)
    asked = _asked_for(claim, history)
    kept = asked or (_kept(source, events.get(source.id, ())) if source else None)
    base, tree, carried = _ground(services.workspaces, kept, head)
    stands = _standing(services, claim, history, base)
    return Start(
        base=base,
        base_tree=services.workspaces.tree_of(base),
        tree=tree,
        begun=_begun(begun, base) or tree,
        standing=stands,
        strategy=_strategy_after(previous),
        allowed_paths=_held_paths(services, claim.task, stands, _allowed(services, claim, source, inherited)),
        previous=previous,
        remarks=_remarks(before, cut_off),
        inherited=inherited,
        last_event_at=last.last_event_at if last else None,
        submitted=last if carried and last is not None and last.worker_output and last.tree_after else None,
        earlier=earlier,
    )


def counted_attempts(history: Sequence[AttemptSummary], claim: Claim) -> tuple[AttemptSummary, ...]:
    """Those of a claimed task's attempts that count with this one: the earlier ones of this run, since a person had the
    task tried again."""
    numbers = range(claim.task.retried_after + 1, claim.number)
    return tuple(attempt for attempt in history if attempt.run_id == claim.run_id and attempt.number in numbers)


def take_over(start: Start, record: AttemptRecord) -> Work | None:
    """The work that a cut off attempt had handed in already; None when there is none."""
    if start.submitted is None:
        return None
    record.begin(start, start.submitted.model)
    record.hand_in(start.submitted.worker_output, start.tree)
    return Work(output=start.submitted.worker_output, tree=start.tree, allowed_paths=start.allowed_paths)


def _told_before(
    claim: Claim, history: Sequence[AttemptSummary], earlier: Sequence[AttemptSummary]
) -> tuple[AttemptSummary | None, bool]:
    """The last attempt that counts no more, where something is to be learned from it, and whether this one goes on from
    it. After a retry that is what it would have been for a further attempt, and of an accepted one what QC has found
    since. In a new run the analysis of one that a bound stopped or that gave up is told; its work is not taken over,
    because a new run may begin elsewhere."""
    counted = {claim.attempt_id, *(attempt.id for attempt in earlier)}
    others = [attempt for attempt in history if attempt.id not in counted]
    last = others[-1] if others else None
    if last is None:
        return None, False
    retried = last.number == claim.task.retried_after and last.status in ("stopped", "rejected", "failed")
    reopened = last.number == claim.task.retried_after and last.status == "accepted"
    told = retried or reopened or last.status == "stopped" or last.stop_reason == "gave_up"
    return (last if told else None), retried and last.stop_reason != "workspace_error"  # its ground may be gone


def _asked_for(claim: Claim, history: Sequence[AttemptSummary]) -> tuple[str, str] | None:
    """The commit and the tree that a person wants the task gone on with from, until an attempt has begun so."""
    task = claim.task
    begun = any(attempt.base_commit for attempt in history if task.retried_after < attempt.number < claim.number)
    return (task.from_base, task.from_tree) if task.from_base and task.from_tree and not begun else None


def _trailing_cut_off(earlier: tuple[AttemptSummary, ...]) -> tuple[AttemptSummary, ...]:
    cut = len(earlier)
    while cut and resumes(earlier[cut - 1]):
        cut -= 1
    return earlier[cut:]


def _begun(cut_off: Sequence[AttemptSummary], base: str) -> str | None:
    """What the first of them began with; None where the base has moved on since, so that others' work is in the
    difference."""
    same = cut_off and all(attempt.base_commit == base for attempt in cut_off)
    return cut_off[0].tree_before if same else None


def _remarks(before: Sequence[AttemptSummary], cut_off: Sequence[AttemptSummary]) -> tuple[Finding, ...]:
    """What QC held against this work in answers that were no verdict: no worker has been told it yet. What such an
    answer lacks is nothing against the work."""
    kept = before[:-1] if before and before[-1].status == "rejected" else ()
    unheard = (*_trailing_cut_off(tuple(kept)), *cut_off)
    silent = (attempt for attempt in unheard if attempt.stop_reason == "review_error")
    found = (finding for attempt in silent for finding in attempt.findings)
    return tuple(dict.fromkeys(f for f in found if f.blocking and f.code not in GAPS))


def _kept(source: AttemptSummary, events: Sequence[Event]) -> tuple[str, str] | None:
    """The base commit and the tree of the work that is gone on with; None where it is begun again."""
    if source.status != "rejected" and not resumes(source):
        return None
    tree = source.tree_after or _last_tree(events) or source.tree_before
    return (source.base_commit, tree) if source.base_commit and tree else None


def _ground(workspaces: Workspaces, kept: tuple[str, str] | None, head: str) -> tuple[str, str, bool]:
    """The base commit, the tree, and whether it holds the kept work, which is carried forward onto a head that has
    moved on, where that merges."""
    if kept is None:
        return head, workspaces.tree_of(head), False
    base, tree = kept
    if base == head:
        return head, tree, True
    merge = workspaces.merge(head=head, base=base, tree=tree, message="Carried forward", trailers={})
    if merge.commit is None:  # the next worker does it again on the new head, with the findings of this one
        return head, workspaces.tree_of(head), False
    return head, workspaces.tree_of(merge.commit), True


def _last_tree(events: Sequence[Event]) -> str | None:
    """The workspace behind the last recorded call of an attempt whose process died before it could say more."""
    trees = (event.tree_after for event in reversed(events) if isinstance(event, ToolFinished))
    return next((tree for tree in trees if tree is not None), None)


def _allowed(
    services: Services, claim: Claim, source: AttemptSummary | None, inherited: tuple[Event, ...]
) -> tuple[str, ...]:
    """The task's allowed paths and what earlier attempts were granted beside them."""
    if source is None:
        return claim.task.allowed_paths
    events = inherited or services.reader.events(source.id)
    granted = [path for event in events if isinstance(event, ScopeDecided) and event.granted for path in event.paths]
    return tuple(dict.fromkeys((*claim.task.allowed_paths, *source.allowed_paths, *granted)))


def _standing(services: Services, claim: Claim, history: Sequence[AttemptSummary], base: str) -> Standing:
    """Where the claimed task stands, begun anew where a person has had it tried again or changed what it is tried on
    since; the attempt is going to stand on the commit `base`."""
    task = claim.task
    past = [attempt for attempt in history if task.retried_after < attempt.number < claim.number]
    rejected = [attempt for attempt in past if attempt.status == "rejected" and attempt.decision is not None]
    if rejected and changed_since(rejected[-1], ground_of(services, task, base), claim.run_id):
        return Standing()
    found = convergence(rejected_passes(past), services.settings.convergence).taken_up
    return Standing(found, tuple(rejected[len(rejected) - found.passes :]))


def _held_paths(services: Services, task: Task, stands: Standing, allowed_paths: tuple[str, ...]) -> tuple[str, ...]:
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


def _strategy_after(previous: AttemptSummary | None) -> Strategy:
    """How an attempt begins that is told of `previous`."""
    if previous is None:
        return "first"
    if previous.status == "rejected":
        return "after_rejection"
    return "after_stop" if previous.status == "stopped" or previous.stop_reason == "gave_up" else "first"
