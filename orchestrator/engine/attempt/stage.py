"""An attempt whose task's stage has risen: what its worker is told, and what of its work counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.domain.assignment import StageNotice
from orchestrator.domain.attempt import AttemptSummary, Decision
from orchestrator.domain.run import Claim
from orchestrator.domain.task import Task
from orchestrator.engine.attempt.resume import Start, Work
from orchestrator.engine.services import Services
from orchestrator.gates.stage import judge_own_size, most_changed, outside, put_back

_MOST_FAILURES = 20
_MOST_REASONS = 12
_REASON_CHARS = 400


def stage_notice(services: Services, task: Task, start: Start) -> StageNotice | None:
    """What the worker is told of the last rejected attempt; None at stage 1."""
    limits, rejected = services.settings.convergence.at(start.stage), start.standing.rejected
    last = rejected[-1].decision if rejected else None
    if limits is None or last is None:
        return None
    files, lines = most_changed(task, limits)
    return StageNotice(
        stage=start.stage,
        passes=len(rejected),
        max_files=files,
        max_lines=lines,
        failures=tuple(_failures(last, rejected[-1]))[:_MOST_FAILURES],
        reasons=tuple(reason[:_REASON_CHARS] for reason in last.reasons[:_MOST_REASONS]),
    )


def held_work(services: Services, claim: Claim, start: Start, work: Work) -> Work:
    """The work with what it changed elsewhere put back as the run has it, what earlier attempts left there too, and
    what stands against the size of the attempt's own change; at stage 1 the work as it is."""
    limits = services.settings.convergence.at(start.stage)
    if limits is None:
        return work
    workspaces = services.workspaces
    made = workspaces.changes(start.base_tree, work.tree)
    elsewhere = outside(made, work.allowed_paths) if limits.touched_only else ()
    tree = workspaces.restored(work.tree, start.base_tree, elsewhere)
    own = workspaces.changes(start.begun, tree)
    return replace(
        work, tree=tree, findings=(*put_back(elsewhere), *judge_own_size(own, claim.task, limits, start.stage))
    )


def _failures(decision: Decision, attempt: AttemptSummary) -> Iterator[str]:
    """Each fingerprint with where it is and how often it was seen."""
    where = {finding.fingerprint: f" {finding.locus[:200]}" for finding in attempt.findings if finding.locus}
    counts = decision.counts or (1,) * len(decision.fingerprints)
    for fingerprint, count in zip(decision.fingerprints, counts, strict=False):
        yield f"{fingerprint}{where.get(fingerprint, '')} x{count}"
