"""`orchestrate trust`: what of a repository's settings file needs the user's yes, and the yes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestrator.cli.invocation import Invocation, pass_invocation
from orchestrator.cli.render.text import clean

if TYPE_CHECKING:
    from orchestrator.app import App


@click.command("trust")
@click.option("--revoke", is_flag=True, help="Trust the file no longer.")
@pass_invocation
def command(invocation: Invocation, revoke: bool) -> None:
    """Show what this repository's settings file sends, runs, opens or loosens, and let it count from now on.

    Trust holds for the file as it is: a changed one asks again. It is kept outside the repository.
    """
    with invocation.app(logged=False) as app:
        return _revoke(app) if revoke else _trust(app)


def _trust(app: App) -> None:
    waiting = app.configuration.untrusted
    if waiting is None:
        return click.echo("Nothing in this repository's settings waits for trust.")
    app.trust()
    click.echo(clean(f"{waiting.file.path} is trusted until it changes:\n{waiting.described}"))
    return click.echo("`orchestrate trust --revoke` takes it back.")


def _revoke(app: App) -> None:
    click.echo("It is trusted no longer." if app.revoke_trust() else "It was not trusted.")
