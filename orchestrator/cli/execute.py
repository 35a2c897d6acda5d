"""`orchestrate execute`: a plan becomes reviewed work on a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestrator.cli.invocation import INTERRUPTED, Invocation, pass_invocation, say
from orchestrator.cli.progress import shown_progress
from orchestrator.cli.signals import signals_of
from orchestrator.cli.values import Duration, json_option
from orchestrator.engine import runs
from orchestrator.reports.status import plan_status
from orchestrator.reports.timeline import attempt_timeline

if TYPE_CHECKING:
    from orchestrator.app import App
    from orchestrator.domain.plan import Plan
    from orchestrator.engine.scheduler import RunResult

NOT_COMPLETED = frozenset({"failed", "blocked", "rejected"})


@click.command("execute")
@click.argument("plan", required=False)
@click.option("--parallel", type=click.IntRange(1, 64), help="Tasks at once.")
@click.option(
    "--task", "tasks", multiple=True, metavar="KEY", help="Only this task and what it depends on; repeatable."
)
@click.option("--resume", is_flag=True, help="Continue the open run; an error when there is none.")
@click.option("--fresh", is_flag=True, help="Start a new run from the plan's base.")
@click.option(
    "--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="Dollars that the run may cost."
)
@click.option("--max-tokens", type=click.IntRange(1), metavar="N", help="Tokens that the run may use.")
@click.option("--deadline", type=Duration(), help="How long the run may take, such as 45m or 2h.")
@click.option(
    "--sandbox",
    type=click.Choice(["auto", "bubblewrap", "landlock", "none"]),
    help="How commands are confined (default: the strongest that works here).",
)
@click.option("--dry-run", is_flag=True, help="Print order, budgets and bounds; start nothing.")
@json_option
@pass_invocation
def command(
    invocation: Invocation,
    plan: str | None,
    parallel: int | None,
    tasks: tuple[str, ...],
    resume: bool,
    fresh: bool,
    max_cost: float | None,
    max_tokens: int | None,
    deadline: float | None,
    sandbox: str | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Execute the newest ready plan of this repository, or PLAN; join its open run if there is one.

    A run that is joined keeps its bounds (--max-cost, --max-tokens, --deadline) until other ones are given.
    """
    if resume and fresh:
        raise click.UsageError("--resume continues a run and --fresh starts one: give one of them.")
    flags = {
        "run.parallel": parallel,
        "run.max_cost_usd": max_cost,
        "run.max_tokens": max_tokens,
        "run.deadline_s": deadline,
        "sandbox.level": sandbox,
    }
    with invocation.app(flags) as app:
        options = runs.ExecuteOptions(app.settings.run.parallel, tasks, resume, fresh)
        found = runs.find_plan(app.graph, app.repository.record.id, plan)
        return _preview(app, found, options, as_json) if dry_run else _execute(app, found, options, as_json)


def _execute(app: App, plan: Plan, options: runs.ExecuteOptions, as_json: bool) -> int:
    from orchestrator.cli.render.overview import run_document, run_view
    from orchestrator.cli.render.plans import loosened_lines
    from orchestrator.cli.render.screen import present

    wider = loosened_lines((planned.task.key, planned.assessment) for planned in plan.tasks)
    for warning in (*app.repository.warnings, *wider):
        say(f"Warning: {warning}")
    with shown_progress(app):
        outcome = app.execute_plan(plan, options, signals_of(app))
    if outcome is None:
        say("Every task of the plan was completed before; --fresh would start again from its base.")
    found = plan_status(app.graph, plan.id)
    present(run_document(found), run_view(found), as_json=as_json)
    return 0 if outcome is None else _ended(app, outcome, options)


def _ended(app: App, outcome: RunResult, options: runs.ExecuteOptions) -> int:
    """Say what went wrong and what to do, and return the exit code."""
    if outcome.error is not None:
        raise outcome.error
    if outcome.interrupted:
        say("Interrupted: the run can be resumed with `orchestrate execute --resume`.")
        return INTERRUPTED
    wanted = set(options.keys) or {state.task.key for state in outcome.tasks}
    for state in outcome.tasks:
        if state.status == "failed":
            _explain(app, state.task.id)
    return int(any(state.status in NOT_COMPLETED and state.task.key in wanted for state in outcome.tasks))


def _explain(app: App, task_id: str) -> None:
    from orchestrator.cli.render.timeline import failure_text

    attempts = app.graph.history(task_id)
    if attempts:
        say("\n" + failure_text(attempt_timeline(app.graph, attempts[-1].id)))


def _preview(app: App, plan: Plan, options: runs.ExecuteOptions, as_json: bool) -> int:
    from orchestrator.cli.render.plans import preview_view
    from orchestrator.cli.render.screen import present

    keys = runs.wanted(plan, options.keys)
    states = app.graph.tasks(plan.id)
    order = runs.order(plan, states, keys)
    bounds = runs.bounds_in_words(app.services(), plan, states, keys)
    judged = {planned.task.key: planned.assessment.loosened for planned in plan.tasks if planned.assessment.loosened}
    document = {"planId": plan.id, "order": order, "bounds": bounds, **({"loosened": judged} if judged else {})}
    present(document, preview_view(plan, order, bounds), as_json=as_json)
    return 0
