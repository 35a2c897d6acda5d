"""How a plan stands, and what a run came to: on one screen, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from orchestrator.cli.render.plans import loosened_document, loosened_view
from orchestrator.cli.render.screen import status_text
from orchestrator.cli.render.tables import states_table
from orchestrator.cli.render.text import clean, count, one_line, spent_in_all
from orchestrator.domain.plan import Plan
from orchestrator.reports.delivered import NOTHING_DELIVERED, DeliveredWork
from orchestrator.reports.status import Activity, PlanOverview

_MOST_NAMED = 10


def status_view(found: PlanOverview, log: Path, *, codes: bool = False) -> RenderableType:
    """Goal, run, tasks (`codes`: with stop codes), what is going on now, cost, and where the log is."""
    parts: list[RenderableType] = [_facts(found), _states(found, codes=codes)]
    parts += loosened_view((state.task.key, state.assessment) for state in found.tasks)
    if found.activity:
        parts.append(Group(*(_doing(activity) for activity in found.activity), Text()))
    parts.append(Text(_cost(found)))
    parts.append(Text(f"log: {log}", style="dim", no_wrap=True, overflow="ignore"))
    return Group(*parts)


def _states(found: PlanOverview, *, codes: bool) -> RenderableType:
    bounds = json.loads(found.run.settings_json).get("run", {}) if found.run else {}
    return states_table(found.tasks, stops=bounds.get("max_stopped_attempts"), codes=codes)


def _facts(found: PlanOverview) -> Text:
    plan, run = found.plan, found.run
    text = Text.assemble(("plan ", "dim"), plan.id, "  ", status_text(plan.status), "  ", one_line(plan.goal, 90), "\n")
    if run is None:
        return text.append(f"{_without_run(plan)}\n", "dim")
    text.append_text(Text.assemble(("run  ", "dim"), run.id, "  ", status_text(run.status)))
    where = f"  branch {clean(run.branch)}  sandbox {run.sandbox_level}  {run.parallelism} at once  since {_at(run)}\n"
    return text.append(where, "dim")


def _without_run(plan: Plan) -> str:
    """What a plan without a run waits for."""
    if plan.status == "ready":
        return "no run yet: orchestrate execute"
    if plan.status == "draft":
        return "no plan came of it yet: once planning has ended, plan again"
    return f"refused: `orchestrate show {plan.id}` says why; mend it and plan again"


def _at(run: Any) -> str:
    return str(run.started_at.astimezone().strftime("%Y-%m-%d %H:%M:%S"))


def _doing(activity: Activity) -> Text:
    used = f"{activity.calls}/{activity.budget or '?'} calls"
    last = f"  {activity.tool} {one_line(activity.arguments or '', 70)}" if activity.tool else ""
    return Text.assemble(("now  ", "dim"), clean(activity.task), "  ", used, last)


def _cost(found: PlanOverview) -> str:
    done = sum(1 for state in found.tasks if state.status == "completed")
    return f"{done} of {count(len(found.tasks))} tasks completed, {spent_in_all(found.spend)}"


def status_document(found: PlanOverview) -> dict[str, Any]:
    """The same as JSON."""
    run = found.run
    return {
        "planId": found.plan.id,
        "goal": found.plan.goal,
        "status": found.plan.status,
        "run": run and {"runId": run.id, "status": run.status, "branch": run.branch, "startedAt": run.started_at},
        "tasks": [
            {
                "key": state.task.key,
                "status": state.status,
                "attempts": state.attempt_number,
                "stopReason": state.stop_reason,
                "toolCallCount": state.tool_call_count,
                "qcScore": state.qc_score,
                "blockedBy": state.blocked_by,
                "durationMs": state.duration_ms,
                **loosened_document(state.assessment),
            }
            for state in found.tasks
        ],
        "promptTokens": found.spend.prompt_tokens,
        "cachedTokens": found.spend.cached_tokens,
        "cacheWriteTokens": found.spend.cache_write_tokens,
        "completionTokens": found.spend.completion_tokens,
        "reasoningTokens": found.spend.reasoning_tokens,
        "costUsd": found.spend.cost_usd,
        "reservedTokens": found.spend.reserved_tokens,
        "reservedUsd": found.spend.reserved_usd,
    }


def run_view(
    found: PlanOverview, *, codes: bool = False, delivered: DeliveredWork = NOTHING_DELIVERED
) -> RenderableType:
    """The tasks (`codes`: with stop codes), what they cost, and where the work is, after what is to be known of it."""
    parts: list[RenderableType] = [_states(found, codes=codes)]
    run = found.run
    if run is not None:
        parts.append(Text.assemble("run ", run.id, " ", status_text(run.status), f": {spent_in_all(found.spend)}"))
        parts.extend(map(Text, _to_know(delivered)))
        if run.head_commit != run.base_commit:
            parts.append(Text(f"The accepted work is on branch {clean(run.branch)}: git merge {clean(run.branch)}"))
        if run.status == "interrupted":
            parts.append(Text("The run is open: `orchestrate execute` goes on with the tasks that are left."))
    return Group(*parts)


def _to_know(delivered: DeliveredWork) -> Iterator[str]:
    for row in delivered.granted:
        paths, who = one_line(", ".join(row["paths"]), 200), one_line(row["decidedBy"])
        yield f"While it worked, {one_line(row['task'])} was granted {paths} (decided by {who})."
    if found := delivered.runs_later:
        more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        named = ", ".join(one_line(path, 200) for path in found[:_MOST_NAMED])
        yield f"Runs when you build, test, commit or open it, so read it first: {named}{more}"


def run_document(found: PlanOverview, delivered: DeliveredWork = NOTHING_DELIVERED) -> dict[str, Any]:
    """`execute --json`."""
    run = found.run
    return {
        "runId": run.id if run else None,
        "planId": found.plan.id,
        "branch": run.branch if run else None,
        "status": run.status if run else None,
        "costUsd": found.spend.cost_usd,
        "granted": [{"task": row["task"], "paths": row["paths"]} for row in delivered.granted],
        "runsLater": delivered.runs_later,
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
