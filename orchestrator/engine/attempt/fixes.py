"""What a task remembers of its fixes, held against work that takes one back."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.domain.plan import Plan
from orchestrator.domain.run import Claim
from orchestrator.engine.attempt.resume import Start, Work
from orchestrator.engine.services import Services
from orchestrator.gates.fixes import judge_undone


def with_memory(services: Services, plan: Plan, claim: Claim, start: Start, work: Work) -> Work:
    """The work with a finding for each fix that its attempt has taken back, where no check would tell."""
    fixes = services.reader.fixes(claim.task.id) if start.earlier else ()
    if not fixes:
        return work
    own = services.workspaces.changes(start.begun, work.tree)
    asked_for = start.previous.findings if start.previous else ()
    found = judge_undone(fixes, own, asked_for, plan.commands_of(claim.task))
    return replace(work, findings=(*work.findings, *found))
