"""`orchestrate doctor`: what works here, found out by use, and what to do about what does not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from orchestrator.cli.invocation import GRAPH_WAIT_S, Invocation, pass_invocation, require_own_agents
from orchestrator.cli.render.machine import print_json
from orchestrator.cli.render.text import clean
from orchestrator.cli.values import json_option
from orchestrator.domain.errors import OrchestrateError, UserError

if TYPE_CHECKING:
    from orchestrator.app import App

LEAST_FREE_MB = 200  # below: an embedded graph or a worktree may not fit
SCARCE_MB = 2_000
_PROMISES = {
    "bubblewrap": "commands write to the workspace alone, which stands at the repository's own path, and see beside it "
    "the system and your tools",
    "landlock": "commands write to the workspace alone, and read beside it the system and your tools; nothing is "
    "mounted, so shared folders are not there",
}
CheckStatus = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of doctor: what was looked at, what was seen, what to do. `code` is the exit code that it asks for."""

    check: str
    status: CheckStatus
    seen: str
    do: str = ""
    code: int = 0


@click.command("doctor")
@click.option(
    "--model", is_flag=True, help="Ask the model endpoint too: API, tools, usage, cache, long prompts, context length."
)
@json_option
@pass_invocation
def command(invocation: Invocation, model: bool, as_json: bool) -> int:
    """Check package, git, repository, disk, sandbox, graph and model; say ok, warn or fail, and what to do."""
    results = checkup(invocation, model=model)
    if as_json:
        found = list(results)
        print_json([{"check": f.check, "verdict": f.status, "seen": f.seen, "do": f.do} for f in found])
    else:
        found = _printed(results)
    return max((result.code for result in found if result.status == "fail"), default=0)


def _printed(results: Iterable[CheckResult]) -> list[CheckResult]:
    """Print each result as it is made: some take a while."""
    from rich.text import Text

    from orchestrator.cli.render.screen import console, status_text

    screen, found = console(), []
    for result in results:
        line = Text.assemble(status_text(result.status), " " * (6 - len(result.status)), f"{result.check}: ")
        line.append(clean(result.seen))
        if result.do:
            line.append(f"\n      {clean(result.do)}", "dim")
        screen.print(line)
        found.append(result)
    return found


def checkup(invocation: Invocation, *, model: bool) -> Iterator[CheckResult]:
    """All results, one after another as they come."""
    package = _tried("package", _package)
    yield package
    if package.status == "fail":
        return
    yield _tried("git", _git)
    with invocation.app({"run.graph_wait_s": GRAPH_WAIT_S}, logged=False) as app:
        repository = _tried("repository", lambda: _repository(app))
        yield repository
        if repository.status == "fail":
            yield CheckResult("graph", "warn", "not looked at: it belongs to a repository")
            return
        settings = _tried("settings", lambda: _settings(app))
        yield settings
        yield _tried("disk", lambda: _disk(app))
        if settings.status == "fail":
            return
        yield _tried("workspace", lambda: _workspace(app))
        yield _tried("sandbox", lambda: _sandbox(app))
        yield _tried("graph", lambda: _graph(app))
        yield from _models(app, by_use=model)


def _tried(check: str, look: Callable[[], CheckResult]) -> CheckResult:
    try:
        return look()
    except OrchestrateError as error:
        return CheckResult(check, "fail", error.message, error.next_step, error.exit_code)


def _package() -> CheckResult:
    require_own_agents()
    return CheckResult("package", "ok", "the import name `agents` is ours")


def _git() -> CheckResult:
    from orchestrator.workspace.git import require_version

    return CheckResult("git", "ok", f"version {'.'.join(map(str, require_version(os.environ)))}")


def _repository(app: App) -> CheckResult:
    found = app.repository
    if found.warnings:
        return CheckResult("repository", "warn", f"{found.root}: {' '.join(found.warnings)}", found.advice)
    return CheckResult("repository", "ok", str(found.root))


def _workspace(app: App) -> CheckResult:
    from orchestrator.workspace.absent import absent_files
    from orchestrator.workspace.shared_files import check_share, refused_folders

    check_share(app.repository, app.settings)
    if absent := absent_files(app.repository, app.settings):
        seen = "; ".join(f"{each.path} is ignored by git and {each.needed_by} needs it" for each in absent)
        return CheckResult("workspace", "warn", f"workspaces lack what commands need: {seen}", absent[0].way_out)
    if refused := refused_folders(app.repository, app.settings):
        return CheckResult("workspace", "warn", " ".join(refused))
    return CheckResult("workspace", "ok", "no tracked file needs one that git ignores")


def _settings(app: App) -> CheckResult:
    guards = app.settings.guards
    return CheckResult("settings", "ok", f"valid; an attempt may take {guards.deadline_s or 'any number of'} seconds")


def _disk(app: App) -> CheckResult:
    free = shutil.disk_usage(app.home).free // 1_000_000
    seen = f"{free:,} MB free at {app.home}"
    if free < LEAST_FREE_MB:
        return CheckResult("disk", "fail", seen, f"Free at least {LEAST_FREE_MB} MB, or move ORCHESTRATE_HOME.", 2)
    return (
        CheckResult("disk", "warn", seen, "Free some, long runs need it.")
        if free < SCARCE_MB
        else CheckResult("disk", "ok", seen)
    )


def _sandbox(app: App) -> CheckResult:
    from orchestrator.workspace.sandbox import detect

    found = detect(app.settings)
    if found.refusal:
        raise UserError(
            found.refusal, next_step="Install bubblewrap, or pass --sandbox none to run commands with your own rights."
        )
    if found.level == "none":
        return CheckResult("sandbox", "warn", "none: commands run with your own rights", "Set sandbox.level = auto.")
    seen = f"{found.level}: {_PROMISES[found.level]}"
    if not found.remarks:
        return CheckResult("sandbox", "ok", seen)
    bubblewrap = "Install bubblewrap and allow user namespaces." if found.level == "landlock" else ""
    ordinary = "Run orchestrate as an ordinary user." if os.geteuid() == 0 else ""
    do = " ".join(filter(None, (bubblewrap, ordinary)))
    return CheckResult("sandbox", "warn", f"{seen}. {' '.join(found.remarks)}", do)


def _graph(app: App) -> CheckResult:
    app.graph.query("RETURN 1 AS one")
    server = app.graph.server
    return CheckResult("graph", "ok", f"{server.kind} at {server.uri} answers: {server.version}")


def _models(app: App, *, by_use: bool) -> Iterator[CheckResult]:
    """Each role's model, once where roles share it: named and with a key, and with `by_use` asked."""
    seen: dict[str, list[str]] = {}
    for role in ("planner", "worker", "verifier"):
        settings = getattr(app.settings.models, role)
        seen.setdefault(settings.model_dump_json(), []).append(role)
    for roles in seen.values():
        check = f"model {'/'.join(roles)}"
        try:
            yield from _model(app, check, roles[0], by_use=by_use)
        except OrchestrateError as error:
            status: CheckStatus = "fail" if by_use else "warn"
            yield CheckResult(check, status, error.message, error.next_step, error.exit_code if by_use else 0)


def _model(app: App, check: str, role: str, *, by_use: bool) -> Iterator[CheckResult]:
    from agents.chat.model_chat import ModelChat
    from agents.chat.probe import probe_endpoint

    settings = getattr(app.settings.models, role).model_copy(update={"retries": 0})  # an answer now, good or bad
    with closing(ModelChat(settings, clock=app.clock, env=app.environ_for(settings))) as chat:
        if not by_use:
            yield CheckResult(check, "ok", f"{chat.model} is named; --model asks it")
            return
        for tried in probe_endpoint(chat):
            status: CheckStatus = "ok" if tried.ok else "fail" if tried.needed else "warn"
            yield CheckResult(f"{check}: {tried.check}", status, tried.detail, code=4)
