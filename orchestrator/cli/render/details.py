"""A plan, a run, a task or a tool call in full, and a diff."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from orchestrator.cli.render.plans import loosened_view, plan_view
from orchestrator.cli.render.screen import status_text
from orchestrator.cli.render.tables import attempts_table, lives_table
from orchestrator.cli.render.text import clean, duration, ended_by, marked, one_line, spent, spent_in_all
from orchestrator.cli.render.timeline import note_view, turn_view
from orchestrator.domain.fix import Fix
from orchestrator.domain.globs import paths_in_words
from orchestrator.domain.query import ResultRow
from orchestrator.domain.text import counted
from orchestrator.reports.details import CallDetails, PlanDetails, RunDetails, TaskDetails
from orchestrator.reports.timeline import TimelineNote, TimelineTurn

_SAID = 2_000  # characters of what a model said in a turn
_PROTECTED_SHOWN = 10
_FIXES_SHOWN = 10
_WARNINGS_SHOWN = 20
_DIFF_STYLE = {"+": "green", "-": "red", "@": "cyan"}


def plan_details_view(full: PlanDetails) -> RenderableType:
    """The plan, what pre-flight holds against its tasks, and the PM's rounds with what was wrong with each."""
    parts: list[RenderableType] = [plan_view(full.plan)]
    for planned in full.plan.tasks:
        if planned.status == "rejected":
            parts += [_refused(f"{planned.task.key}: {why}") for why in planned.assessment.rejected_because]
    for row in full.rounds:
        asked = f"{counted(row['turns'], 'turn')}, {counted(row['calls'], 'call')}"
        kinds = {"cached": int(row["cachedTokens"]), "reasoning": int(row["reasoningTokens"])}
        used = spent(int(row["tokens"] or 0), row["costUsd"], **kinds)
        head = f"\nplanning round {row['number']}: {asked}, {used}"
        parts.append(Text.assemble((head, "bold"), f"  (orchestrate show {row['id']})"))
        if row["defects"]:
            parts += _said(row["steps"])
        parts += [_refused(defect) for defect in row["defects"] or ()]
    return Group(*parts)


def _said(steps: Sequence[TimelineTurn | TimelineNote]) -> list[Text]:
    """What the PM said and did in a round that came to no plan, and what was said to it."""
    return [turn_view(step, _SAID) if isinstance(step, TimelineTurn) else note_view(step) for step in steps]


def _refused(why: str) -> Text:
    return Text(f"refused: {clean(why)}", style="red")


def run_details_view(full: RunDetails, *, codes: bool = False) -> RenderableType:
    """The run's facts and its attempts; `codes` shows stop codes."""
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
    used = [Text(f"{clean(each.task)}: {each.told}") for each in full.used]
    return Group(head, *_facts(facts), *wider, Text(), attempts_table(full.attempts, codes=codes), *used)


def task_details_view(full: TaskDetails, *, codes: bool = False) -> RenderableType:
    """What the task asks, what has become of it, and why it failed; `codes` shows stop codes."""
    task, state = full.state.task, full.state
    stops = sum(row["status"] == "stopped" for row in full.attempts)
    head = Text.assemble((clean(task.key), "bold"), "  ", status_text(state.status), f"  {clean(task.title)}\n")
    facts = {
        "id": task.id,
        "reason": f"waits for {state.blocked_by}"
        if state.blocked_by
        else ended_by(state.stop_reason, stops, codes=codes),
        "budget": f"{task.tool_call_budget} calls, {counted(task.max_attempts, 'attempt')}",
        "depends on": ", ".join(task.depends_on),
        "may write": paths_in_words(task.allowed_paths),
        "protected": _protected(full.protected),
        "checks": "; ".join(task.verification),
        "criteria": "; ".join(task.acceptance_criteria),
        "spent": _spent(full) if full.attempts else "",
        "tried": "; ".join(each.told for each in full.used),
        "artefacts": full.artefacts,
    }
    wider = loosened_view([(task.key, state.assessment)])
    parts: list[RenderableType] = [head, *_facts(facts), *wider, Text(f"\n{clean(task.prompt).rstrip()}\n")]
    parts.append(attempts_table(full.attempts, codes=codes) if full.attempts else Text("No attempt yet."))
    parts += _lives(full)
    told = [row for row in full.attempts if row["status"] != "accepted" and row["stopDetail"]]
    parts += [Text(f"\n{row['attempt']}: {clean(row['stopDetail'])}") for row in told]
    parts += _warnings(full.warnings)
    if full.diagnosis:
        parts.append(Text(f"\n{clean(full.diagnosis['summary'])}"))
        said = " ".join(row["stopDetail"] for row in told)
        actions = [action for action in full.diagnosis.get("actions") or [] if action not in said]
        parts += [Text(f"advice: {clean(action)}") for action in actions]
    return Group(*parts)


def _protected(found: ResultRow) -> str:
    """The first of the files that the task may not change, and how many more there are."""
    named = (found.get("files") or [])[:_PROTECTED_SHOWN]
    more = (found.get("count") or 0) - len(named)
    return ", ".join(named) + (f" and {counted(more, 'more file')}" if more else "")


def _lives(full: TaskDetails) -> list[RenderableType]:
    """What became of each finding, and the newest that were mended."""
    if not full.lives:
        return []
    head = Text("\nwhat became of each finding, attempt by attempt")
    return [head, lives_table(full.lives, full.passes), *(_fix(fix) for fix in full.fixes[-_FIXES_SHOWN:])]


def _warnings(warnings: Sequence[str]) -> list[Text]:
    more = [Text(f"and {len(warnings) - _WARNINGS_SHOWN} more")] if len(warnings) > _WARNINGS_SHOWN else []
    head = [Text("\naccepted all the same")] if warnings else []
    return [*head, *(Text(clean(message)) for message in warnings[:_WARNINGS_SHOWN]), *more]


def _fix(fix: Fix) -> Text:
    what = f"{clean(fix.code)}{f' at {one_line(fix.locus, 80)}' if fix.locus else ''}"
    return Text(f"attempt {fix.attempt} mended {what} in {one_line(fix.path, 80)}")


def _spent(full: TaskDetails) -> str:
    state = full.state
    calls = counted(state.tool_call_count or 0, "call")
    turns = counted(sum(row["turns"] for row in full.attempts), "turn")
    made = counted(state.attempt_number, "attempt")
    return f"{made}, {turns}, {calls}, {duration(state.duration_ms)}, {spent_in_all(full.spend)}"


def _facts(facts: dict[str, str]) -> list[Text]:
    return [Text.assemble((f"{name:>10}  ", "dim"), clean(value)) for name, value in facts.items() if value]


def call_details_view(found: CallDetails) -> RenderableType:
    """The call's arguments one by one, and its result, whole; what a command printed as plain text."""
    took = f"  {duration(found.duration_ms)}" if found.duration_ms is not None else ""
    name = f"{found.attempt_id} call {found.seq}: {clean(found.tool)}"
    shown = clean if found.tool == "run_command" else marked  # of a file nothing is left out
    head = Text.assemble((name, "bold"), f"  {found.status}{took}")
    result = Text(shown(found.result).rstrip())
    return Group(head, *_arguments(found.arguments), Text("result:", style="dim"), result)


def _arguments(sent: str) -> list[Text]:
    """Texts as they are, everything else as JSON; what is no object as it was sent."""
    try:
        arguments = json.loads(sent)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        return [Text("arguments:", style="dim"), Text(marked(sent))]
    texts = {name: each if isinstance(each, str) else json.dumps(each) for name, each in arguments.items()}
    between = {name: "\n" if "\n" in text else " " for name, text in texts.items()}
    return [
        Text.assemble((f"{marked(name)}:{between[name]}", "dim"), marked(text).rstrip("\n"))
        for name, text in texts.items()
    ]


def diff_view(diff: str) -> Text:
    """A unified diff in its colours."""
    text = Text()
    for line in diff.rstrip("\n").split("\n"):
        text.append(marked(line) + "\n", _DIFF_STYLE.get(line[:1], ""))
    text.rstrip()
    return text
