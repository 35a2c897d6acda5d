"""The command line as click has it: every command with its arguments and options, and the codes of the errors."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from orchestrator.cli import cli
from orchestrator.domain import errors
from tests.support.drawn.markdown import first_sentence, one_line, paragraphs, table


def overview() -> str:
    """One line a command."""
    group = cli.make_context("orchestrate", ["doctor"])
    rows = [(f"[`orchestrate {name}`](#orchestrate-{name})", _does(group, name)) for name in cli.list_commands(group)]
    return table(("command", "what it does"), rows)


def global_options() -> str:
    """The options that stand before a command."""
    return _options(cli, click.Context(cli, info_name="orchestrate"))


def commands() -> str:
    """One section a command, and one for each command of a group."""
    group = cli.make_context("orchestrate", ["doctor"])
    return paragraphs(*(part for name in cli.list_commands(group) for part in _sections(_command(group, name), group)))


def _does(group: click.Context, name: str) -> str:
    return first_sentence(_command(group, name).help)


def _command(group: click.Context, name: str) -> click.Command:
    command = cli.get_command(group, name)
    assert command is not None
    return command


def _sections(command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=command.name, parent=parent)
    level = "##" + "#" * (parent.parent is not None)
    usage = context.get_usage().removeprefix("Usage: ").replace("\n", " ")
    texts = [one_line(text) for text in inspect.cleandoc(command.help or "").split("\n\n")]
    yield paragraphs(f"{level} {context.command_path}", f"`{one_line(usage)}`", *texts, _options(command, context))
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from _sections(inner, context)


def _options(command: click.Command, context: click.Context) -> str:
    records = [record for option in command.params if (record := option.get_help_record(context))]
    rows = [(f"`{names}`", meaning) for names, meaning in records if meaning]
    return table(("option", "meaning"), rows) if rows else ""


def error_codes() -> str:
    """The kinds of error, with the exit code of each."""
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind) and hasattr(kind, "exit_code")]
    rows = sorted((kind.exit_code, f"`{kind.__name__}`", first_sentence(kind.__doc__)) for kind in kinds)
    return table(("exit code", "error", "what it is"), [(str(code), name, text) for code, name, text in rows])
