"""`orchestrate retry`: a task that has ended is tried again, with what is to be different."""

from __future__ import annotations

import click

from orchestrator.cli.completing import task_keys
from orchestrator.cli.invocation import Invocation, pass_invocation
from orchestrator.cli.values import changed_meanwhile, json_option
from orchestrator.clock import RandomIds
from orchestrator.domain.errors import UserError
from orchestrator.domain.next_commands import execute_command
from orchestrator.engine.orders import retry_of
from orchestrator.reports.details import task_state


@click.command("retry")
@click.argument("task", shell_complete=task_keys)
@click.option("--note", metavar="TEXT", help="What its workers are told from now on.")
@click.option("--budget", type=click.IntRange(1, 10_000), metavar="N", help="Tool calls that an attempt may make.")
@click.option("--model", metavar="M", help="The model that works on it.")
@click.option(
    "--from-tree", metavar="ID", help="Begin with what an attempt left: the attempt's id, or that of a recorded tree."
)
@json_option
@pass_invocation
def command(
    invocation: Invocation,
    task: str,
    note: str | None,
    budget: int | None,
    model: str | None,
    from_tree: str | None,
    as_json: bool,
) -> None:
    """Have TASK tried again by the next `execute`: it is pending, and its earlier attempts count no more.

    Without options it is tried as it was. A retry is recorded in the graph with what was changed.
    """
    from orchestrator.cli.render.screen import present

    if not all(text is None or text.strip() for text in (note, model)):
        raise click.UsageError("An empty --note or --model changes nothing: leave it out.")
    with invocation.app() as app:
        label, id_ = app.graph.resolve(task, app.repository.record.id)
        if label != "Task":
            raise UserError(f"{task} is a {label}, not a task.", next_step="`orchestrate status` names the tasks.")
        found = task_state(app.graph, id_).task
        retry = retry_of(
            app.graph,
            app.graph.tasks(found.plan_id),
            found.key,
            id_=RandomIds().new("y"),
            at=app.clock.now(),
            note=note,
            budget=budget,
            model=model,
            from_tree=from_tree,
        )
        with changed_meanwhile():
            app.graph.retry_task(found.plan_id, retry)
        follows = execute_command(found.plan_id)
        document = {"task": found.key, "taskId": found.id, "status": "pending", "retryId": retry.id, "next": follows}
        present(document, f"{found.key} is pending again. Next: {follows}", as_json=as_json)
