"""What fails before a plan is made: the PM that knows it plans around it, or plans to mend it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

from orchestrator.domain.attempt import Check
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.plan import Plan
from orchestrator.domain.ports import Workspace
from orchestrator.domain.progress import PhaseEnded, PhaseStarted
from orchestrator.engine.attempt.command_check import AskedCheck, run_check
from orchestrator.engine.attempt.record import Deadlines
from orchestrator.engine.services import Services
from orchestrator.gates.baseline import known_failures, measured_commands

_NO_DEADLINE = Deadlines(None, None)


def failures_before(services: Services, draft: Plan) -> tuple[str, ...]:
    """What the settings' verification shows at the commit that is planned on, in words: as it is remembered, else
    measured now in a clean worktree. Nothing is run where the settings name no command."""
    commands = measured_commands(services.settings.checks.commands, (), ())
    if not commands:
        return ()
    workspaces, commit = services.workspaces, draft.base_commit
    tree = workspaces.tree_of(commit)
    baseline = Baseline(run_id=draft.id, commit=commit, tree=tree, captured_at=services.clock.now())
    with workspaces.measured.alone(tree):
        known = {command: workspaces.measured.of(tree, command) for command in commands}
        missing = [command for command, check in known.items() if check is None]
        if missing:
            name = f"{draft.id}:baseline"
            with closing(workspaces.open(name, commit, head=commit, plan_id=draft.id)) as workspace:
                known |= {command: _measured(services, workspace, baseline, command) for command in missing}
    checks = tuple(check for check in known.values() if check)
    silent = (check for check in checks if check.outcome == "infrastructure")
    told = (f"`{check.command}` gives no answer here: {check.output[-300:].strip()}" for check in silent)
    return (*known_failures(replace(baseline, checks=checks)), *told)


def _measured(services: Services, workspace: Workspace, baseline: Baseline, command: str) -> Check:
    with _phase(services, f"running {command} as it is before any work"):
        asked = AskedCheck(
            id=f"{baseline.id}:check", command=command, phase="baseline", pass_id=baseline.id, tree=baseline.tree
        )
        check = run_check(services, workspace, asked, None, _NO_DEADLINE)
    services.workspaces.measured.keep(check)
    return check


@contextmanager
def _phase(services: Services, words: str) -> Iterator[None]:
    services.listener(PhaseStarted(at=services.clock.now(), words=words))
    try:
        yield
    finally:
        services.listener(PhaseEnded(at=services.clock.now(), words=words))
