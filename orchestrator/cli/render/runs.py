"""A run's end, as a table and as JSON, and a run that is only thought through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from orchestrator.cli.render.screen import grid, status_text
from orchestrator.cli.render.tables import states_table
from orchestrator.cli.render.text import clean, money, one_line, tokens
from orchestrator.domain.plan import Plan
from orchestrator.reports.status import PlanOverview


def run_view(found: PlanOverview) -> RenderableType:
    """The tasks, what they cost, and where the work is."""
    parts: list[RenderableType] = [states_table(found.tasks)]
    run, spend = found.run, found.spend
    if run is not None:
        used = f"{tokens(spend.tokens)} tokens, {money(spend.cost_usd)}"
        parts.append(Text.assemble("run ", run.id, " ", status_text(run.status), f": {used}"))
        if run.head_commit != run.base_commit:
            parts.append(Text(f"The accepted work is on branch {clean(run.branch)}: git merge {clean(run.branch)}"))
        if run.status == "interrupted":
            parts.append(Text("The run is open: orchestrate execute goes on with the tasks that are left."))
    return Group(*parts)


def run_document(found: PlanOverview) -> dict[str, Any]:
    """`execute --json`."""
    run = found.run
    return {
        "runId": run.id if run else None,
        "planId": found.plan.id,
        "branch": run.branch if run else None,
        "status": run.status if run else None,
        "costUsd": found.spend.cost_usd,
        "tasks": [
            {
                "key": state.task.key,
                "status": state.status,
                "attempts": state.attempt_number,
                "stopReason": state.stop_reason,
            }
            for state in found.tasks
        ],
    }


def preview_view(plan: Plan, order: Sequence[Sequence[str]], bounds: Sequence[str]) -> RenderableType:
    """What `execute --dry-run` prints: the tasks by the step in which they could start, and the bounds."""
    tasks = {planned.task.key: planned.task for planned in plan.tasks}
    shown = grid("step", "task", "title", "budget", "attempts", right=("budget", "attempts"))
    for number, generation in enumerate(order, start=1):
        for key in generation:
            task = tasks[key]
            budget, most = str(task.tool_call_budget), str(task.max_attempts)
            shown.add_row(str(number), Text(key), Text(one_line(task.title, 60)), budget, most)
    said = [Text(clean(bound)) for bound in bounds]
    return Group(shown, Text(), *said, Text("Nothing was started (--dry-run).", style="dim"))
