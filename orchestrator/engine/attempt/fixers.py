"""Fixers, before a worker is paid: the user's commands over the rejected work, each kept only where it may be."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from orchestrator.config.settings import FixerSettings
from orchestrator.domain.attempt import AttemptSummary, Check
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.errors import ToolError
from orchestrator.domain.finding import Finding
from orchestrator.domain.plan import Plan
from orchestrator.domain.ports import Workspace
from orchestrator.domain.run import Claim
from orchestrator.domain.workspace import CommandResult
from orchestrator.engine.attempt.checked_work import fresh_checkout, protect, protection_rules
from orchestrator.engine.attempt.record import AttemptRecord, Deadlines
from orchestrator.engine.attempt.result import AttemptEnd, AttemptEnded
from orchestrator.engine.attempt.resume import Start, Work
from orchestrator.engine.attempt.verification import run_checks
from orchestrator.engine.services import Services
from orchestrator.gates.baseline import blamed
from orchestrator.gates.checks import judge_checks, outcome, without_answer
from orchestrator.gates.fixers import due_fixers, judge_fix, unmended
from orchestrator.gates.protected import judge_protected, protected_changes
from orchestrator.gates.scope import judge_scope, judge_size
from orchestrator.gates.stage import judge_own_size


def mend(
    services: Services,
    plan: Plan,
    claim: Claim,
    start: Start,
    baseline: Baseline,
    deadlines: Deadlines,
    record: AttemptRecord,
) -> tuple[Start, Work | None]:
    """Run the fixers that are due over the work that was rejected. The work, where they have settled all that was held
    against it: then no worker is asked. Else where the worker is to begin, and what it is to be told. Raises
    AttemptEnded when everything is cut short, and at a deadline."""
    previous = _rejected(start)
    failed = _failed(previous) if previous else ()
    rules = due_fixers(services.settings.fixers, previous.findings, failed) if previous else ()
    if previous is None or not rules:
        return start, None
    tree, used = start.tree, list[str]()
    for number, rule in enumerate(rules, start=1):
        fixed = _fixed(services, plan, claim, start, tree, rule, number, deadlines)
        used += [rule.command] if fixed != tree else []
        tree = fixed
    if not used:
        return start, None
    began = replace(start, tree=tree, fixers=tuple(used))
    proofs, held = _still_failing(services, plan, claim, began, failed, baseline, deadlines)
    left = (*held, *unmended(previous.findings, services.settings.fixers, used))
    if left or without_answer(proofs):
        told = tuple(replace(check, phase="verification") for check in proofs)
        return replace(began, previous=replace(previous, findings=left, checks=told)), None
    return _hand_in(replace(began, checked=proofs), record)


def _rejected(start: Start) -> AttemptSummary | None:
    """The attempt whose work is gone on with; None for one that a worker has begun already, or that begins anew."""
    previous = start.previous
    if previous is None or previous.status != "rejected" or start.inherited or start.tree == start.base_tree:
        return None
    return previous


def _failed(previous: AttemptSummary) -> tuple[Check, ...]:
    """The checks that were held against the work; not what QC cited, nor an earlier fixer."""
    judged = (check for check in previous.checks if check.phase in ("verification", "merge"))
    return tuple(check for check in judged if check.outcome == "failed" and not check.as_before)


def _hand_in(start: Start, record: AttemptRecord) -> tuple[Start, Work]:
    output = f"No worker was asked: fixers mended what was found ({', '.join(start.fixers)})."
    record.begin(start, "")
    record.hand_in(output, start.tree)
    return start, Work(output=output, tree=start.tree, allowed_paths=start.allowed_paths)


def _fixed(
    services: Services,
    plan: Plan,
    claim: Claim,
    start: Start,
    tree: str,
    rule: FixerSettings,
    number: int,
    deadlines: Deadlines,
) -> str:
    """The tree behind the fixer; the one before it, where what it did may not stay."""
    if services.cancelled.is_set():
        raise AttemptEnded(AttemptEnd.interrupted(services.cancelled.reason))
    name = f"{claim.attempt_id}:fixer{number}"
    with closing(services.workspaces.open(name, tree, head=start.base, plan_id=plan.id)) as workspace:
        result, fixed, why = _run_fixer(services, workspace, rule, tree, deadlines)
    why = why or _held_against(services, plan, claim, start, tree, fixed)
    ended = outcome(result)
    check = Check(
        id=name,
        command=rule.command,
        exit_code=result.exit_code,
        outcome=ended if ended == "infrastructure" else "failed" if why else "passed",
        duration_ms=result.duration_ms,
        output=f"{result.output}\nLeft out: {why}".strip() if why else result.output,
        started_at=result.started_at,
        phase="fixer",
        pass_id=f"{claim.attempt_id}:fixers",
        tree=tree,
    )
    services.writer.record_checks(claim, (check,))
    return tree if why else fixed


def _run_fixer(
    services: Services, workspace: Workspace, rule: FixerSettings, tree: str, deadlines: Deadlines
) -> tuple[CommandResult, str, str]:
    """How it ended, the tree behind it, and why that cannot be taken: no answer, no change, another one each time."""
    result = _run(services, workspace, rule, deadlines)
    if outcome(result) == "infrastructure":
        return result, tree, "it gave no answer."
    try:
        fixed = workspace.snapshot()
        if fixed == tree:
            return result, tree, "it changed nothing."
        again = _run(services, workspace, rule, deadlines)
        same = outcome(again) != "infrastructure" and workspace.snapshot() == fixed
    except ToolError as error:
        return result, tree, str(error)
    return result, fixed, "" if same else "it changes something each time it is run."


def _run(services: Services, workspace: Workspace, rule: FixerSettings, deadlines: Deadlines) -> CommandResult:
    left_s = deadlines.seconds_left(services.clock.now())
    return workspace.run(rule.command, timeout_s=services.settings.checks.timeout_s, within_s=left_s)


def _held_against(services: Services, plan: Plan, claim: Claim, start: Start, before: str, fixed: str) -> str:
    """What scope, protected files and diff budget say to the change, and whether a file is broken."""
    task, workspaces = claim.task, services.workspaces
    own, whole = workspaces.changes(before, fixed), workspaces.changes(start.base_tree, fixed)
    limits = services.settings.convergence.at(start.stage)
    protected = protected_changes(own, protection_rules(services, plan, claim), workspaces.content)
    findings = (
        *judge_scope(own, start.allowed_paths),
        *judge_protected(protected),
        *judge_size(whole, task.max_changed_files, task.max_changed_lines),
        *(judge_own_size(own, task, limits, start.stage) if limits else ()),
    )
    return judge_fix(findings, own, workspaces.content)


def _still_failing(
    services: Services,
    plan: Plan,
    claim: Claim,
    start: Start,
    failed: tuple[Check, ...],
    baseline: Baseline,
    deadlines: Deadlines,
) -> tuple[tuple[Check, ...], tuple[Finding, ...]]:
    """The commands that had failed, over the mended work, and what they hold against it."""
    wanted = plan.commands_of(claim.task)
    again = tuple(check.command for check in failed if check.command in wanted)
    work = Work(output="", tree=start.tree, allowed_paths=start.allowed_paths)
    checked = protect(services, plan, claim, start, work)
    with fresh_checkout(services, claim, start, checked, name="fixed") as checkout:
        proofs = run_checks(
            services,
            claim,
            checkout,
            again,
            deadlines,
            phase="fixer",
            pass_id=f"{claim.attempt_id}:fixed",
            tree=checked.tree,
            baseline=baseline,
        )
        return proofs, judge_checks(blamed(proofs, baseline), checkout.shown_root)
