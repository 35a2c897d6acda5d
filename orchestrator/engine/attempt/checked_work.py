"""What of the work counts, and what it is checked as: its tree, with what the worker may not change as it was at the
start, with what a raised stage and the memory of fixes hold against it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import groupby

from orchestrator.domain.finding import Finding
from orchestrator.domain.fix import Fix
from orchestrator.domain.plan import Plan
from orchestrator.domain.ports import Workspace
from orchestrator.domain.run import Claim
from orchestrator.domain.workspace import FileChange
from orchestrator.engine.attempt.resume import Start, Work
from orchestrator.engine.services import Services
from orchestrator.gates.fixes import judge_undone
from orchestrator.gates.protected import ProtectionRules, judge_protected, protected_changes, protected_files
from orchestrator.gates.shadowing import built_in, judge_shadowing, new_modules
from orchestrator.gates.stage import judge_own_size, outside, put_back

MOST_LISTED = 50
"""Protected files that are recorded by name with an attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedWork:
    """`changes` are those of the whole work, `tree` is what the checks run over, and `findings` say what of the work is
    not in it."""

    tree: str
    changes: tuple[FileChange, ...]
    findings: tuple[Finding, ...]


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
