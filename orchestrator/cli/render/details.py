"""A run or a task in full, and a diff."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from orchestrator.cli.render.plans import loosened_view, plan_view
from orchestrator.cli.render.screen import status_text
from orchestrator.cli.render.tables import attempts_table
from orchestrator.cli.render.text import clean, duration, spent, spent_in_all
from orchestrator.domain.text import counted
from orchestrator.reports.details import PlanDetails, RunDetails, TaskDetails

_DIFF_STYLE = {"+": "green", "-": "red", "@": "cyan"}


def plan_details_view(full: PlanDetails) -> RenderableType:
    """The plan, what pre-flight holds against its tasks, and the PM's rounds with what was wrong with each."""
    parts: list[RenderableType] = [plan_view(full.plan)]
    for planned in full.plan.tasks:
        if planned.status == "rejected":
            parts += [_refused(f"{planned.task.key}: {why}") for why in planned.assessment.rejected_because]
    for row in full.rounds:
        asked = f"{counted(row['turns'], 'turn')}, {counted(row['calls'], 'call')}"
        used = spent(int(row["tokens"] or 0), row["costUsd"])
        parts.append(Text(f"\nplanning round {row['number']}: {asked}, {used}", style="bold"))
        parts += [_refused(defect) for defect in row["defects"] or ()]
    return Group(*parts)


def _refused(why: str) -> Text:
    return Text(f"refused: {clean(why)}", style="red")


def run_details_view(full: RunDetails) -> RenderableType:
    """The run's facts and its attempts."""
    run = full.run
    head = Text.assemble(("run ", "dim"), run.id, "  ", status_text(run.status), "\n")
    facts = {
        "plan": run.plan_id,
        "branch": run.branch,
        "base": run.base_commit,
        "head": run.head_commit,
        "sandbox": run.sandbox_level,
        "started": run.started_at.isoformat(),
        "finished": run.finished_at.isoformat() if run.finished_at else "",
        "spent": spent_in_all(full.spend),
    }
    wider = loosened_view(full.loosened.items())
    return Group(head, *_facts(facts), *wider, Text(), attempts_table(full.attempts))


def task_details_view(full: TaskDetails) -> RenderableType:
    """What the task asks, what has become of it, and why it failed."""
    task, state = full.state.task, full.state
    head = Text.assemble((clean(task.key), "bold"), "  ", status_text(state.status), f"  {clean(task.title)}\n")
    facts = {
        "id": task.id,
        "reason": f"waits for {state.blocked_by}" if state.blocked_by else state.stop_reason or "",
        "budget": f"{task.tool_call_budget} calls, {counted(task.max_attempts, 'attempt')}",
        "depends on": ", ".join(task.depends_on),
        "may write": ", ".join(task.allowed_paths),
        "checks": "; ".join(task.verification),
        "criteria": "; ".join(task.acceptance_criteria),
        "used": _used(full) if full.attempts else "",
    }
    wider = loosened_view([(task.key, state.assessment)])
    parts: list[RenderableType] = [head, *_facts(facts), *wider, Text(f"\n{clean(task.prompt).rstrip()}\n")]
    parts.append(attempts_table(full.attempts) if full.attempts else Text("No attempt yet."))
    if full.diagnosis:
        parts.append(Text(f"\n{clean(full.diagnosis['summary'])}"))
        parts += [Text(f"next: {clean(action)}") for action in full.diagnosis.get("actions") or []]
    return Group(*parts)


def _used(full: TaskDetails) -> str:
    state = full.state
    calls = counted(state.tool_call_count or 0, "call")
    made = counted(state.attempt_number, "attempt")
    return f"{made}, {calls}, {duration(state.duration_ms)}, {spent_in_all(full.spend)}"


def _facts(facts: dict[str, str]) -> list[Text]:
    return [Text.assemble((f"{name:>10}  ", "dim"), clean(value)) for name, value in facts.items() if value]


def diff_view(diff: str) -> Text:
    """A unified diff in its colours."""
    text = Text()
    for line in diff.rstrip("\n").split("\n"):
        text.append(clean(line) + "\n", _DIFF_STYLE.get(line[:1], ""))
    text.rstrip()
    return text
