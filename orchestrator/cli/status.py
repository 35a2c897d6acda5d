"""`orchestrate status`: how a plan stands, on one screen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from orchestrator.cli.completing import task_keys
from orchestrator.cli.invocation import Invocation, pass_invocation
from orchestrator.cli.logs import log_path
from orchestrator.cli.values import json_option
from orchestrator.reports.status import PlanOverview, plan_and_run, plan_status

if TYPE_CHECKING:
    from orchestrator.app import App

WATCH_S = 1.0


@click.command("status")
@click.argument("id_", metavar="[ID]", required=False, shell_complete=task_keys)
@click.option("--watch", is_flag=True, help="Follow until nothing is running.")
@json_option
@pass_invocation
def command(invocation: Invocation, id_: str | None, watch: bool, as_json: bool) -> None:
    """Show how the newest plan stands, or the plan, run, task or attempt named."""
    if watch and as_json:
        raise click.UsageError("--watch shows a screen; it cannot be had with --json.")
    from rich.live import Live

    from orchestrator.cli.render.overview import status_document, status_view
    from orchestrator.cli.render.screen import console, present

    with invocation.app() as app:
        found, log, codes = _status(app, id_), log_path(app.home), invocation.verbose
        if not watch:
            return present(status_document(found), status_view(found, log, codes=codes), as_json=as_json)
        with Live(status_view(found, log, codes=codes), console=console(), auto_refresh=False) as live:
            while found.run is not None and found.run.status == "running":
                time.sleep(WATCH_S)
                found = _status(app, id_)
                live.update(status_view(found, log, codes=codes), refresh=True)
    return None


def _status(app: App, wanted: str | None) -> PlanOverview:
    plan_id, run_id = plan_and_run(app.graph, app.repository.record.id, wanted)
    return plan_status(app.graph, plan_id, run_id)
