"""`orchestrate show`: what an id stands for, in full; without one the newest run, or its newest failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestrator.cli.completing import task_keys
from orchestrator.cli.invocation import Invocation, pass_invocation, say
from orchestrator.cli.values import json_option
from orchestrator.domain.errors import UserError
from orchestrator.reports.conversation import ConversationDetails
from orchestrator.reports.details import (
    CallDetails,
    Details,
    PlanDetails,
    RunDetails,
    TaskDetails,
    change_shown,
    details_of,
    newest_subject,
    trees_of,
)
from orchestrator.reports.timeline import Timeline

if TYPE_CHECKING:
    from rich.console import RenderableType

    from orchestrator.app import App


@click.command("show")
@click.argument("id_", metavar="[ID]", required=False, shell_complete=task_keys)
@click.option("--diff", is_flag=True, help="Print the diff of an attempt, or the whole one of a task or a run.")
@click.option("--call", type=click.IntRange(1), metavar="N", help="Print an attempt's call N whole.")
@json_option
@pass_invocation
def command(invocation: Invocation, id_: str | None, diff: bool, call: int | None, as_json: bool) -> None:
    """Tell a plan, run, task, attempt, review or planning round in full: its story in order, why it ended, what next.

    Without ID: the newest failure of the newest run, or the run itself where nothing failed for good. KEY:2 is a task's
    second attempt, KEY:2:7 the call 7 of it.
    """
    if diff and (as_json or call):
        raise click.UsageError("--diff prints a diff; it cannot be had with --json or --call.")
    from orchestrator.cli.render.screen import page, present

    with invocation.app() as app:
        found = _wanted(app, id_)
        if found is None:
            return say('There is no plan in this repository yet: orchestrate plan "what you want"')
        if diff:
            return _print_diff(app, *found)
        subject = details_of(app.graph, *(found if call is None else _call_of(*found, call)))
        view = _view(subject, codes=invocation.verbose)
        return (
            page(view) if isinstance(subject, CallDetails) and not as_json else present(subject, view, as_json=as_json)
        )


def _wanted(app: App, id_: str | None) -> tuple[str, str] | None:
    if id_ is not None:
        return app.graph.resolve(id_, app.repository.record.id)
    return newest_subject(app.graph, app.repository.record.id)


def _call_of(label: str, id_: str, call: int) -> tuple[str, str]:
    if label != "Attempt":
        raise UserError(f"{id_} is a {label}; --call asks for a call of an attempt.", next_step="Name one, as KEY:2.")
    return "ToolCall", f"{id_}:{call}"


def _view(subject: Details, *, codes: bool) -> RenderableType:
    from orchestrator.cli.render import conversation, details, timeline

    match subject:
        case PlanDetails():
            return details.plan_details_view(subject)
        case RunDetails():
            return details.run_details_view(subject, codes=codes)
        case TaskDetails():
            return details.task_details_view(subject, codes=codes)
        case CallDetails():
            return details.call_details_view(subject)
        case ConversationDetails():
            return conversation.conversation_view(subject)
        case Timeline():
            return timeline.timeline_view(subject, codes=codes)


def _print_diff(app: App, label: str, id_: str) -> None:
    from orchestrator.cli.render.details import diff_view
    from orchestrator.cli.render.screen import page
    from orchestrator.workspace.diff import diff

    if label == "Task":
        _say_whose(app, id_)
    text = diff(app.workspaces.git, *trees_of(app.graph, label, id_))
    page(diff_view(text) if text else "No change.")


def _say_whose(app: App, task_id: str) -> None:
    """A task's change is not always its last attempt's, and then whoever reads it must know."""
    history = app.graph.history(task_id)
    shown = change_shown(history, task_id)
    if shown.id != history[-1].id:
        say(f"This is the work of attempt {shown.number}: none that has ended since has changed anything.")
