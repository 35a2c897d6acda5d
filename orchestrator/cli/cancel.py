"""`orchestrate cancel`: a run or a task ends, whoever works on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestrator.cli.completing import task_keys
from orchestrator.cli.invocation import Invocation, pass_invocation
from orchestrator.cli.values import changed_meanwhile, json_option
from orchestrator.domain.errors import UserError
from orchestrator.domain.lifecycle import OPEN_RUN
from orchestrator.reports.details import task_state

if TYPE_CHECKING:
    from orchestrator.app import App


@click.command("cancel")
@click.argument("id_", metavar="RUN|TASK", shell_complete=task_keys)
@json_option
@pass_invocation
def command(invocation: Invocation, id_: str, as_json: bool) -> None:
    """Cancel a run, or one task, from any shell: the attempts under way end as cancelled, their work is not merged.

    What a cancelled task blocks waits. `orchestrate retry` makes it pending again, a new run all of them.
    """
    from orchestrator.cli.render.screen import present

    with invocation.app() as app:
        label, found = app.graph.resolve(id_, app.repository.record.id)
        if label == "Run":
            told = _run(app, found)
        elif label == "Task":
            told = _task(app, found)
        else:
            raise UserError(f"{id_} is a {label}; a run or a task can be cancelled.", next_step=_way_out(label, found))
        notices_s = app.settings.run.lease_s / 3
        view = f"{told} is cancelled. A process that works on it in another shell notices within {notices_s:g} seconds."
        present({"id": found, "kind": label, "status": "cancelled"}, view, as_json=as_json)


def _run(app: App, run_id: str) -> str:
    run = app.graph.run(run_id)
    if run.status not in (*OPEN_RUN, "cancelled"):
        raise UserError(f"Run {run_id} is {run.status}: there is nothing to cancel.")
    with changed_meanwhile():
        app.graph.cancel_run(run, app.clock.now())
    return f"Run {run_id}"


def _task(app: App, task_id: str) -> str:
    state = task_state(app.graph, task_id)
    if not app.graph.cancel_task(task_id, app.clock.now()):
        raise UserError(f"Task {state.task.key} is {state.status}: there is nothing to cancel.")
    return f"Task {state.task.key}"


def _way_out(label: str, id_: str) -> str:
    if label == "Attempt":
        return f"Cancel its task: `orchestrate cancel {id_.rpartition(':')[0]}`."
    return "`orchestrate list runs` names the runs."
