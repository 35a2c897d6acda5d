"""`orchestrate completion`: what a shell needs to complete commands, options, task keys and saved queries."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
def command(shell: str) -> None:
    """Print the script that makes SHELL complete commands, options, task keys and saved queries.

    In bash and zsh: eval "$(orchestrate completion bash)" in the shell's start file. In fish: orchestrate completion
    fish > ~/.config/fish/completions/orchestrate.fish.
    """
    from orchestrator.cli import cli

    click.echo(SHELLS[shell](cli, {}, "orchestrate", "_ORCHESTRATE_COMPLETE").source())
