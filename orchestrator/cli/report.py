"""`orchestrate report`: what became of a run, as a document."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.completing import task_keys
from orchestrator.cli.invocation import Invocation, pass_invocation, say
from orchestrator.domain.errors import UserError


@click.command("report")
@click.argument("id_", metavar="[RUN]", required=False, shell_complete=task_keys)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it to FILE, not to stdout."
)
@pass_invocation
def command(invocation: Invocation, id_: str | None, out: Path | None) -> None:
    """Tell in Markdown what became of a run: its tasks with attempts, calls, tokens and dollars, what QC said, which
    findings came and what mended them, what was stopped and why, and the figures of success.

    Without RUN: the newest plan's newest run. Everything is read from the graph.
    """
    from orchestrator.cli.render.run_report import run_report_markdown
    from orchestrator.reports.run_report import run_report
    from orchestrator.reports.status import plan_and_run

    with invocation.app() as app:
        plan_id, run_id = plan_and_run(app.graph, app.repository.record.id, id_)
        newest = app.graph.newest_run(plan_id) if run_id is None else None
        found = run_id or (newest.id if newest else None)
        if found is None:
            raise UserError(f"Plan {plan_id} has had no run yet.", next_step="Run `orchestrate execute`.")
        text = run_report_markdown(run_report(app.graph, found))
    if out is None:
        return click.echo(text, nl=False)
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}.", next_step="Name another file.") from error
    return say(f"The report of run {found} is in {out}.")
