"""`orchestrate status`: how a plan stands, on one screen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from orchestrator.cli.invocation import Invocation, pass_invocation
from orchestrator.cli.values import json_option

if TYPE_CHECKING:
    from orchestrator.app import App
    from orchestrator.reports.status import PlanOverview


@click.command("status")
@click.argument("id_", metavar="[ID]", required=False)
@click.option("--watch", is_flag=True, help="Follow until nothing is running.")
@json_option
@pass_invocation
def command(invocation: Invocation, id_: str | None, watch: bool, as_json: bool) -> None:
    """Show how the newest plan stands, or the plan, run, task or attempt named."""
    if watch and as_json:
        raise click.UsageError("--watch shows a screen; it cannot be had with --json.")
    with invocation.app() as app:
        if watch:
            return _watch(app, id_)
        found = _status(app, id_)
        if as_json:
            from orchestrator.cli.render.machine import print_json
            from orchestrator.cli.render.overview import status_document

            return print_json(status_document(found))
        from orchestrator.cli.logs import log_path
        from orchestrator.cli.render.overview import status_view
        from orchestrator.cli.render.screen import console

        return console().print(status_view(found, log_path(app.home)))


def _status(app: App, wanted: str | None) -> PlanOverview:
    from orchestrator.reports.status import plan_and_run, plan_status

    plan_id, run_id = plan_and_run(app.graph, app.repository.record.id, wanted)
    return plan_status(app.graph, plan_id, run_id)


def _watch(app: App, wanted: str | None, every_s: float = 1.0) -> None:
    from rich.live import Live

    from orchestrator.cli.logs import log_path
    from orchestrator.cli.render.overview import status_view
    from orchestrator.cli.render.screen import console

    found = _status(app, wanted)
    with Live(status_view(found, log_path(app.home)), console=console(), auto_refresh=False) as live:
        while found.run is not None and found.run.status == "running":
            time.sleep(every_s)
            found = _status(app, wanted)
            live.update(status_view(found, log_path(app.home)), refresh=True)
