"""`orchestrate execute`: a plan becomes reviewed work on a branch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.completing import task_keys
from orchestrator.cli.invocation import INTERRUPTED, Invocation, pass_invocation, say
from orchestrator.cli.progress import line, line_teller, shown_progress
from orchestrator.cli.signals import signals_of
from orchestrator.cli.values import Duration, json_option
from orchestrator.domain.review import TOLERANCES
from orchestrator.engine import runs
from orchestrator.engine.programs import require_network, require_programs
from orchestrator.planning.dag import generations
from orchestrator.reports.delivered import delivered_work
from orchestrator.reports.status import plan_status
from orchestrator.reports.timeline import attempt_timeline

if TYPE_CHECKING:
    from orchestrator.app import App
    from orchestrator.domain.plan import Plan
    from orchestrator.domain.task import TaskState
    from orchestrator.engine.scheduler import RunResult

SETTING_OF = {
    "parallel": "run.parallel",
    "max_cost": "run.max_cost_usd",
    "max_tokens": "run.max_tokens",
    "deadline": "run.deadline_s",
    "sandbox": "sandbox.level",
    "strictness": "review.strictness",
}
"""The options that are settings for one command."""
NOT_COMPLETED = frozenset({"failed", "blocked", "rejected", "cancelled"})


@click.command("execute")
@click.argument("plan", required=False)
@click.option("--parallel", type=click.IntRange(1, 64), help="Tasks at once.")
@click.option(
    "--task",
    "tasks",
    multiple=True,
    metavar="KEY",
    shell_complete=task_keys,
    help="Only this task and what it depends on; repeatable.",
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
@click.option(
    "--strictness",
    type=click.Choice(list(TOLERANCES)),
    help="What a review may hold and still pass, where a task of the plan has no strictness of its own.",
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
    strictness: str | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Execute the newest ready plan of this repository, or PLAN; join its open run if there is one.

    A run that is joined keeps its bounds (--max-cost, --max-tokens, --deadline) until other ones are given.
    """
    if resume and fresh:
        raise click.UsageError("--resume continues a run and --fresh starts one: give one of them.")
    given = {"parallel": parallel, "max_cost": max_cost, "max_tokens": max_tokens, "strictness": strictness}
    with invocation.app(settings_of({**given, "deadline": deadline, "sandbox": sandbox})) as app:
        options = runs.ExecuteOptions(app.settings.run.parallel, tasks, resume, fresh)
        found = runs.find_plan(app.graph, app.repository.record.id, plan)
        return (
            _preview(app, found, options, as_json)
            if dry_run
            else _execute(app, found, options, as_json, invocation.verbose)
        )


def settings_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the command line as settings by dotted name."""
    return {SETTING_OF[name]: value for name, value in options.items()}


def _execute(app: App, plan: Plan, options: runs.ExecuteOptions, as_json: bool, codes: bool) -> int:
    from orchestrator.cli.render.overview import run_document, run_view
    from orchestrator.cli.render.plans import loosened_lines
    from orchestrator.cli.render.screen import present

    wider = loosened_lines((planned.task.key, planned.assessment) for planned in plan.tasks)
    for warning in (*app.warnings, *wider):
        say(f"Warning: {warning}")
    with shown_progress(app, line_teller(codes=codes), words=not as_json):
        outcome = app.execute_plan(plan, options, signals_of(app))
    found = plan_status(app.graph, plan.id)
    work = delivered_work(app.graph, app.workspaces, found.run)
    present(run_document(found, work), run_view(found, codes=codes, delivered=work), as_json=as_json)
    return _ended(app, outcome, options, codes) if outcome else _nothing_executed(found.tasks, options)


def _nothing_executed(tasks: Sequence[TaskState], options: runs.ExecuteOptions) -> int:
    """Say why nothing was to be done, unless it was told task by task, and return the exit code."""
    if any(_not_completed(tasks, options)):
        return 1
    which = "that was named" if options.keys else "of the plan"
    say(f"Every task {which} was completed before; --fresh would start again from its base.")
    return 0


def _not_completed(tasks: Sequence[TaskState], options: runs.ExecuteOptions) -> Iterator[TaskState]:
    wanted = set(options.keys) or {state.task.key for state in tasks}
    return (state for state in tasks if state.status in NOT_COMPLETED and state.task.key in wanted)


def _ended(app: App, outcome: RunResult, options: runs.ExecuteOptions, codes: bool) -> int:
    """Say what went wrong and what to do, and return the exit code."""
    if outcome.error is not None:
        raise outcome.error
    if outcome.interrupted:
        say("Interrupted: the run can be resumed with `orchestrate execute --resume`.")
        return INTERRUPTED
    not_completed = list(_not_completed(outcome.tasks, options))
    for state in not_completed:
        if state.status == "failed":
            _explain(app, state.task.id, codes)
    return int(bool(not_completed))


def _explain(app: App, task_id: str, codes: bool) -> None:
    from orchestrator.cli.render.timeline import failure_text

    attempts = app.graph.history(task_id)
    if attempts:
        say("\n" + failure_text(attempt_timeline(app.graph, attempts[-1].id), codes=codes))


def _preview(app: App, plan: Plan, options: runs.ExecuteOptions, as_json: bool) -> int:
    from orchestrator.cli.render.plans import checks_document, preview_view
    from orchestrator.cli.render.screen import present

    services = app.services()
    require_network(services, plan)
    require_programs(services, plan)
    ahead = runs.outlook(services, plan, options)
    for each in ahead.left:
        say(line(each))
    order = generations(ahead.tasks)
    bounds = runs.bounds_in_words(services, ahead.tasks)
    judged = {planned.task.key: planned.assessment.loosened for planned in plan.tasks if planned.assessment.loosened}
    document = {"planId": plan.id, "order": order, "bounds": bounds, **({"loosened": judged} if judged else {})}
    document |= checks_document(plan)
    present(document, preview_view(plan, order, bounds), as_json=as_json)
    return 0
