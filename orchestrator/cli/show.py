"""`orchestrate show`: a plan, run, task or attempt in full; without an ID the newest run, or its newest failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestrator.cli.invocation import Invocation, pass_invocation, say
from orchestrator.cli.values import json_option
from orchestrator.reports.details import PlanDetails, RunDetails, TaskDetails, details_of, newest_subject, trees_of
from orchestrator.reports.timeline import Timeline

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

    Without ID: the newest failure of the newest run, or the run itself where nothing failed for good.
    """
    if diff and as_json:
        raise click.UsageError("--diff prints a diff; it cannot be had with --json.")
    from orchestrator.cli.render.screen import present

    with invocation.app() as app:
        found = _wanted(app, id_)
        if found is None:
            return say('There is no plan in this repository yet: orchestrate plan "what you want"')
        if diff:
            return _print_diff(app, *found)
        subject = details_of(app.graph, *found)
        return present(subject, _view(subject), as_json=as_json)


def _wanted(app: App, id_: str | None) -> tuple[str, str] | None:
    if id_ is not None:
        return app.graph.resolve(id_, app.repository.record.id)
    return newest_subject(app.graph, app.repository.record.id)


def _view(subject: PlanDetails | RunDetails | TaskDetails | Timeline) -> RenderableType:
    from orchestrator.cli.render import details, timeline

    match subject:
        case PlanDetails():
            return details.plan_details_view(subject)
        case RunDetails():
            return details.run_details_view(subject)
        case TaskDetails():
            return details.task_details_view(subject)
        case Timeline():
            return timeline.timeline_view(subject)


def _print_diff(app: App, label: str, id_: str) -> None:
    from orchestrator.cli.render.details import diff_view
    from orchestrator.cli.render.screen import console
    from orchestrator.workspace.diff import diff

    text = diff(app.workspaces.git, *trees_of(app.graph, label, id_))
    console(exact=True).print(diff_view(text) if text else "No change.")
