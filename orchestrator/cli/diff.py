"""`orchestrate diff`: what a run or a task has changed."""

from __future__ import annotations

import click

from orchestrator.cli.completing import task_keys
from orchestrator.cli.invocation import Invocation, pass_invocation
from orchestrator.reports.details import trees_of


@click.command("diff")
@click.argument("id_", metavar="RUN|TASK", shell_complete=task_keys)
@pass_invocation
def command(invocation: Invocation, id_: str) -> None:
    """Print what a run, a task or an attempt has changed, as `git diff` does."""
    from orchestrator.cli.render.details import diff_view
    from orchestrator.cli.render.screen import console
    from orchestrator.workspace.diff import diff

    with invocation.app() as app:
        label, found = app.graph.resolve(id_, app.repository.record.id)
        text = diff(app.workspaces.git, *trees_of(app.graph, label, found))
    console(exact=True).print(diff_view(text) if text else "No change.")
