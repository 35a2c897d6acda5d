"""`orchestrate init`: what proves a change in this repository, tried, and written down."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import click

from orchestrator.cli import execute
from orchestrator.cli.invocation import Invocation, pass_invocation, say
from orchestrator.cli.render.text import clean
from orchestrator.cli.values import json_option
from orchestrator.config.file import OWN_FILE, read_settings_file
from orchestrator.domain.errors import ToolError, UserError
from orchestrator.gates.checks import runs_no_test
from orchestrator.planning.proposals import propose_checks

if TYPE_CHECKING:
    from orchestrator.app import App
    from orchestrator.domain.ports import Workspace
    from orchestrator.domain.workspace import CommandResult

_HEAD = """# Settings of orchestrate for this repository; `orchestrate settings` shows them all.
# In a clone, what this file runs counts after `orchestrate trust`.

[checks]
"""
_FAILED = """
# Tried, and failed. One whose tests can run may stand above all the same: what fails before is not held against a task.
"""
_TAIL_LINES = 5


@click.command("init", params=[option for option in execute.command.params if option.name == "sandbox"])
@json_option
@pass_invocation
def command(invocation: Invocation, /, as_json: bool, sandbox: str | None) -> None:
    """Propose verification commands, run each once in the sandbox, and write those that pass to orchestrate.toml.

    They hold for every plan that names none of its own.
    """
    from orchestrator.cli.render.machine import print_json

    with invocation.app({"sandbox.level": sandbox}) as app:
        _require_none(app)
        tried = list(_tried(app))
        path = app.repository.root / OWN_FILE
        _write(app, tried)
    with invocation.app(logged=False) as again:
        again.trust()  # the user has just had it written
    if as_json:
        commands = [{"command": r.command, "passed": _passes(r), "exitCode": r.exit_code} for r in tried]
        return print_json({"file": str(path), "commands": commands})
    passed = sum(map(_passes, tried))
    click.echo(clean(f"{path} is written, with {passed} of {len(tried)} proposed commands."))
    return click.echo('Next: `orchestrate doctor --model`, then `orchestrate plan "what you want"`')


def _require_none(app: App) -> None:
    file = read_settings_file(app.repository.root)
    if file.values or (app.repository.root / OWN_FILE).exists():
        raise UserError(
            f"{app.repository.root / file.name} is there already.",
            next_step="Add your verification commands to it as checks.commands, or remove it first.",
        )
    for warning in app.warnings:
        say(f"Warning: {warning}")


def _tried(app: App) -> Iterator[CommandResult]:
    """Each proposal's result, told as it comes."""
    head = app.repository.head
    app.workspaces.sweep()
    with closing(app.workspaces.open(f"init:{head[:12]}", head, head=head)) as workspace:
        proposed = propose_checks(workspace.files(), lambda path: _text(workspace, path))
        if not proposed:
            say("No test command was recognised: name yours as checks.commands in the file.")
        for proposal in proposed:
            say(f"Trying {proposal}")
            result = workspace.run(proposal, timeout_s=app.settings.checks.timeout_s)
            say("  passes" if _passes(result) else _failure(result))
            yield result


def _text(workspace: Workspace, path: str) -> str:
    try:
        return workspace.read(path).decode("utf-8", "replace")
    except ToolError:
        return ""


def _passes(result: CommandResult) -> bool:
    """One that finds no test passes whatever the work is."""
    return result.exit_code == 0 and not runs_no_test(result.output)


def _failure(result: CommandResult) -> str:
    last = "".join(f"\n    {line}" for line in result.output.splitlines()[-_TAIL_LINES:])
    return f"  fails: {_how(result)}{last}"


def _how(result: CommandResult) -> str:
    if result.exit_code == 0:
        return "it runs no test"
    return result.detail or f"exit code {result.exit_code}"


def _write(app: App, tried: Sequence[CommandResult]) -> None:
    path = app.repository.root / OWN_FILE
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(settings_text(tried))
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from None


def settings_text(tried: Sequence[CommandResult]) -> str:
    """The settings file: the commands that pass, and in comments those that do not."""
    passed = [result for result in tried if _passes(result)]
    named = "".join(f"    {json.dumps(result.command)},\n" for result in passed)
    commands = f"commands = [\n{named}]\n" if passed else '# commands = ["make test"]\n'
    failed = [f"# {' '.join(f'{r.command}: {_how(r)}'.split())}\n" for r in tried if not _passes(r)]
    return "".join([_HEAD, commands, *([_FAILED, *failed] if failed else [])])
