"""`orchestrate list`: the plans or runs of this repository."""

from __future__ import annotations

from typing import Literal

import click

from orchestrator.cli.invocation import Invocation, pass_invocation
from orchestrator.cli.values import json_option
from orchestrator.reports.ask import ask_graph


@click.command("list")
@click.argument("what", type=click.Choice(["plans", "runs"]), default="plans")
@json_option
@pass_invocation
def command(invocation: Invocation, what: Literal["plans", "runs"], as_json: bool) -> None:
    """List this repository's plans, or its runs, newest first."""
    from orchestrator.cli.render.listing import listing_view
    from orchestrator.cli.render.screen import present

    with invocation.app() as app:
        rows = ask_graph(app.graph, f"all_{what}", repository=app.repository.record.id)
    present(rows, listing_view(rows), as_json=as_json)
