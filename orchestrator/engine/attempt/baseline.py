"""The baseline: what the plan's commands show at the commit under the work, before the worker is paid."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from orchestrator.domain.attempt import Check
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.errors import PlanError
from orchestrator.domain.plan import Plan
from orchestrator.domain.run import Claim
from orchestrator.engine.attempt.record import Deadlines
from orchestrator.engine.attempt.result import AttemptEnd, AttemptEnded
from orchestrator.engine.attempt.verification import run_checks
from orchestrator.engine.services import Services
from orchestrator.gates.baseline import measured_commands
from orchestrator.gates.decision_file import is_decision_command

_WAY_OUT = "Make it run in a clean checkout (`orchestrate doctor` shows the sandbox), or take it out of verification."


def measure_baseline(services: Services, plan: Plan, claim: Claim, commit: str, deadlines: Deadlines) -> Baseline:
    """What the plan's commands show over a commit: as it is remembered, else measured now in a clean worktree, and
    recorded with the run. Raises AttemptEnded, which halts the run, when one of them gives no answer: nobody could tell
    what the work has changed."""
    written = tuple(path for planned in plan.tasks for path in planned.task.files_written)
    commands = measured_commands(plan.measured_before, written, services.workspaces.files_of(commit))
    baseline = _measured(services, claim, commit, commands, deadlines)
    for check in baseline.checks:
        if check.outcome == "infrastructure":
            detail = f"`{check.command}` gives no answer before any work: {check.output[-500:].strip()}"
            raise AttemptEnded(
                AttemptEnd.failed("baseline_unavailable", detail, halt=PlanError(detail, next_step=_WAY_OUT))
            )
    if commands:
        services.writer.record_baseline(baseline)
    return baseline


def with_failed(
    services: Services, claim: Claim, baseline: Baseline, checks: Sequence[Check], deadlines: Deadlines
) -> Baseline:
    """The baseline with the commands that failed and are not in it: those that only a merge is checked by cost nothing
    as long as they pass. One without an answer has none, and one that judges whether the work is done excuses
    nothing."""
    failed = (check.command for check in checks if check.outcome == "failed" and check.phase == "merge")
    wanted = tuple(c for c in failed if baseline.check_of(c) is None and not is_decision_command(c))
    found = _measured(services, claim, baseline.commit, wanted, deadlines).checks
    return replace(baseline, checks=baseline.checks + tuple(c for c in found if c.outcome != "infrastructure"))


def _measured(services: Services, claim: Claim, commit: str, commands: Sequence[str], deadlines: Deadlines) -> Baseline:
    tree = services.workspaces.tree_of(commit)
    empty = Baseline(run_id=claim.run_id, commit=commit, tree=tree, captured_at=services.clock.now())
    if not commands:
        return empty
    with services.workspaces.measured.alone(tree):
        return replace(empty, checks=_checks(services, claim, empty, commands, deadlines))


def _checks(
    services: Services, claim: Claim, baseline: Baseline, commands: Sequence[str], deadlines: Deadlines
) -> tuple[Check, ...]:
    measured = services.workspaces.measured
    known = {command: measured.of(baseline.tree, command) for command in commands}
    missing = tuple(command for command, check in known.items() if check is None)
    if missing:
        name = f"{claim.attempt_id}:baseline"
        opened = services.workspaces.open(name, baseline.commit, head=baseline.commit, plan_id=claim.task.plan_id)
        with closing(opened) as workspace:
            ran = run_checks(
                services,
                claim,
                workspace,
                missing,
                deadlines,
                phase="baseline",
                pass_id=baseline.id,
                tree=baseline.tree,
            )
        known |= {check.command: check for check in ran}
    found = ((number, check) for number, check in enumerate(known.values(), start=1) if check)
    return tuple(
        replace(check, id=f"{baseline.id}:check{number}", phase="baseline", pass_id=baseline.id, reused_from=None)
        for number, check in found
    )
