"""`orchestrate show`: a plan, run, task or attempt in full; without an ID the newest failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.invocation import Invocation, pass_invocation, say
from orchestrator.cli.values import json_option

if TYPE_CHECKING:
    from rich.console import RenderableType

    from orchestrator.app import App


@click.command("show")
@click.argument("id_", metavar="[ID]", required=False)
@click.option("--diff", is_flag=True, help="Print the diff of an attempt, a task's last attempt, or a run.")
@json_option
@pass_invocation
def command(invocation: Invocation, id_: str | None, diff: bool, as_json: bool) -> None:
    """Tell a plan, run, task or attempt in full: its story in order, why it ended, what next.

    Without ID: the newest failure.
    """
    if diff and as_json:
        raise click.UsageError("--diff prints a diff; it cannot be had with --json.")
    with invocation.app() as app:
        found = _wanted(app, id_)
        if found is None:
            return say("Nothing has failed in this repository.")
        if diff:
            return _print_diff(app, *found)
        return _print(app, *found, as_json=as_json)


def _wanted(app: App, id_: str | None) -> tuple[str, str] | None:
    from orchestrator.reports.timeline import newest_failure

    if id_ is not None:
        label, found = app.graph.resolve(id_, app.repository.record.id)
        return label, found
    newest = newest_failure(app.graph, app.repository.record.id)
    return ("Attempt", newest) if newest else None


def _print(app: App, label: str, id_: str, *, as_json: bool) -> None:
    from orchestrator.reports.details import details_of

    subject = details_of(app.graph, label, id_)
    if as_json:
        from orchestrator.cli.render.machine import print_json

        return print_json(subject)
    from orchestrator.cli.render.screen import console

    return console().print(_view(subject))


def _view(subject: Any) -> RenderableType:
    from orchestrator.cli.render import details, timeline
    from orchestrator.reports.details import PlanDetails, RunDetails, TaskDetails
    from orchestrator.reports.timeline import Timeline

    views: dict[type, Any] = {
        PlanDetails: details.plan_details_view,
        RunDetails: details.run_details_view,
        TaskDetails: details.task_details_view,
        Timeline: timeline.timeline_view,
    }
    view: RenderableType = views[type(subject)](subject)
    return view


def _print_diff(app: App, label: str, id_: str) -> None:
    from orchestrator.cli.render.details import diff_view
    from orchestrator.cli.render.screen import console
    from orchestrator.reports.details import trees_of
    from orchestrator.workspace.diff import diff

    before, after = trees_of(app.graph, label, id_)
    text = diff(app.workspaces.git, before, after)
    console(exact=True).print(diff_view(text) if text else "No change.")
