"""Looking for the programs of verification commands where these run, before a plan is accepted."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import closing
from pathlib import PurePosixPath

from orchestrator.domain.errors import PlanError, UserError, WorkspaceError
from orchestrator.domain.plan import Plan
from orchestrator.domain.ports import Workspace
from orchestrator.engine.services import Services
from orchestrator.planning.plan_file import PlanFile
from orchestrator.planning.preflight import network_refusals
from orchestrator.planning.programs import NONE_MISSING, MissingPrograms, asks_for, programs_of, read_missing

_SECONDS = 20.0


def missing_in(
    services: Services, file: PlanFile, base_commit: str, workspace: Workspace | None = None
) -> MissingPrograms:
    """Which programs of a plan's commands are not found, in this workspace or in one of the base commit."""
    commands = [*file.verification, *file.full_verification, *(c for task in file.tasks for c in task.verification)]
    written = [path for task in file.tasks for path in task.files_written]
    return _missing(services, commands, written, base_commit, workspace)


def network_reached(services: Services) -> bool:
    """Whether commands reach the network."""
    return services.settings.sandbox.network or services.workspaces.sandbox_level == "none"


def require_network(services: Services, plan: Plan) -> None:
    """Raise PlanError for a plan with a command that needs the network where commands do not reach it."""
    refused = [] if network_reached(services) else network_refusals(plan.checks)
    if refused:
        raise PlanError("\n".join(refused))


def require_programs(services: Services, plan: Plan) -> None:
    """Raise PlanError for a stored plan whose commands name what is not found here, but for what a person let pass."""
    tasks = [planned.task for planned in plan.tasks if not planned.assessment.overridden]
    commands = [*plan.verification, *plan.full_verification, *(c for task in tasks for c in task.verification)]
    written = [path for planned in plan.tasks for path in planned.task.files_written]
    missing = _missing(services, commands, written, plan.base_commit, None)
    told = [sentence for command in dict.fromkeys(commands) if (sentence := missing.told(command))]
    if told:
        raise PlanError("\n".join(told))


def _missing(
    services: Services, commands: Iterable[str], written: Iterable[str], commit: str, workspace: Workspace | None
) -> MissingPrograms:
    """Nothing is missing where it may yet be made: by what prepares a workspace, or by a task under its name."""
    made = {name for path in map(PurePosixPath, written) for name in (path.name, path.stem)}
    wanted = {name for command in commands for name in programs_of(command)} - made
    if not wanted or services.settings.workspace.prepare:
        return NONE_MISSING
    try:
        if workspace is not None:
            return _looked_up(workspace, wanted)
        name = f"{services.ids.new('w')}:programs"
        with closing(services.workspaces.open(name, commit, head=commit)) as opened:
            return _looked_up(opened, wanted)
    except (UserError, WorkspaceError):  # no sandbox, no workspace: who executes the plan is told
        return NONE_MISSING


def _looked_up(workspace: Workspace, wanted: Collection[str]) -> MissingPrograms:
    result = workspace.run(asks_for(wanted), timeout_s=_SECONDS, read_only=True)
    return read_missing(result.output) if result.exit_code == 0 else NONE_MISSING
