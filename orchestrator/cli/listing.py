"""`orchestrate list`: the plans or runs of this repository."""

from __future__ import annotations

from typing import Literal

import click

from orchestrator.cli.invocation import Invocation, pass_invocation
from orchestrator.cli.values import json_option
from orchestrator.domain.query import QueryResult
from orchestrator.reports.ask import ask_graph


@click.command("list")
@click.argument("what", type=click.Choice(["plans", "runs"]), default="plans")
@json_option
@pass_invocation
def command(invocation: Invocation, what: Literal["plans", "runs"], as_json: bool) -> None:
    """List this repository's plans, or its runs, newest first."""
    from orchestrator.cli.render.machine import print_json
    from orchestrator.cli.render.tables import print_table

    with invocation.app() as app:
        rows = ask_graph(app.graph, f"all_{what}", repository=app.repository.record.id)
    if as_json:
        return print_json(rows)
    return print_table(QueryResult(tuple(rows[0]) if rows else (), [list(row.values()) for row in rows]))
