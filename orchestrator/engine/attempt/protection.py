"""What the work is checked as: its tree, with what the worker may not decide as it was at the start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from orchestrator.domain.finding import Finding
from orchestrator.domain.plan import Plan
from orchestrator.domain.ports import Workspace
from orchestrator.domain.run import Claim
from orchestrator.domain.workspace import FileChange
from orchestrator.engine.attempt.resume import Start, Work
from orchestrator.engine.services import Services
from orchestrator.gates.protected import ProtectionRules, judge_protected, protected_changes, protected_files
from orchestrator.gates.shadowing import built_in, judge_shadowing, new_modules


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedWork:
    """`changes` are those of the whole work, `tree` is what the checks run over, and `findings` say what of the work is
    not in it."""

    tree: str
    changes: tuple[FileChange, ...]
    findings: tuple[Finding, ...]


MOST_LISTED = 50
"""Protected files that are recorded by name with an attempt."""


def protection_rules(services: Services, plan: Plan, claim: Claim) -> ProtectionRules:
    """What is protected from the claimed task."""
    commands = (*plan.commands_of(claim.task), *plan.full_verification)
    return ProtectionRules.of(claim.task, commands, services.settings.checks.protected)


def describe_protection(services: Services, plan: Plan, claim: Claim, start: Start) -> None:
    """Record with the attempt which files it may not change, by name as far as they are few."""
    files = protected_files(services.workspaces.files_of(start.base), protection_rules(services, plan, claim))
    told = {"protected_files": files[:MOST_LISTED], "protected_count": len(files)}
    services.writer.describe_attempt(claim, told)


def protect(services: Services, plan: Plan, claim: Claim, start: Start, work: Work) -> CheckedWork:
    """Put protected files back as the commit under the work has them, and leave out modules in place of others."""
    workspaces, rules = services.workspaces, protection_rules(services, plan, claim)
    changes = workspaces.changes(start.base_tree, work.tree)
    changed = protected_changes(changes, rules, workspaces.content)
    made = new_modules(changes, workspaces.files_of(start.base), rules)
    needed = built_in(made, rules.commands)
    needed |= workspaces.imported(start.base_tree, made.keys() - needed)
    paths = (*(change.path for change in changed), *(made[name].path for name in needed))
    return CheckedWork(
        tree=workspaces.restored(work.tree, start.base_tree, paths),
        changes=changes,
        findings=(*judge_protected(changed), *judge_shadowing(made, needed)),
    )


@contextmanager
def fresh_checkout(
    services: Services, claim: Claim, start: Start, checked: CheckedWork, name: str = "pass1"
) -> Iterator[Workspace]:
    """A checkout of what was handed in, for the gates and for QC: so nothing counts that is not delivered, such as what
    the worker's commands left in ignored folders."""
    opened = services.workspaces.open(
        f"{claim.attempt_id}:{name}", checked.tree, head=start.base, plan_id=claim.task.plan_id
    )
    with closing(opened) as checkout:
        yield checkout
