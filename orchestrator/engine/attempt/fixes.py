"""What a task remembers of its fixes, held against work that takes one back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from orchestrator.domain.finding import Finding
from orchestrator.domain.fix import Fix
from orchestrator.domain.plan import Plan
from orchestrator.domain.run import Claim
from orchestrator.engine.attempt.resume import Start, Work
from orchestrator.engine.services import Services
from orchestrator.gates.fixes import judge_undone


def with_memory(services: Services, plan: Plan, claim: Claim, start: Start, work: Work) -> Work:
    """The work with a finding for each fix that it has taken back, where no check would tell. Only fixes in the work
    that it goes on with count: one that began anew has none."""
    if start.strategy != "after_rejection" or start.tree == start.base_tree:
        return work
    began = max((a.number for a in start.earlier if a.strategy != "after_rejection"), default=0)
    fixes = [fix for fix in services.reader.fixes(claim.task.id) if fix.attempt >= began]
    found = dict.fromkeys(_undone(services, plan.commands_of(claim.task), start, work, fixes))
    return replace(work, findings=(*work.findings, *found))


def _undone(
    services: Services, commands: tuple[str, ...], start: Start, work: Work, fixes: list[Fix]
) -> Iterator[Finding]:
    asked_for = start.previous.findings if start.previous else ()
    for tree, proven in groupby(fixes, key=lambda fix: fix.tree):
        yield from judge_undone(proven, services.workspaces.changes(tree, work.tree), asked_for, commands)
