"""Tables of results: a query's answer, a plan's tasks, a run's attempts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table as RichTable
from rich.text import Text
from rich.tree import Tree

from orchestrator.cli.render.machine import plain
from orchestrator.cli.render.screen import console, grid, status_text
from orchestrator.cli.render.text import cell, clean, count, duration, money, one_line, tokens
from orchestrator.domain.records import PlannedTask, Table, TaskState


def print_table(table: Table) -> None:
    """A query's answer, numbers to the right; says so when there are no rows."""
    rows = [[plain(value) for value in row] for row in table.rows]
    numeric = tuple(c for i, c in enumerate(table.columns) if rows and all(_is_number(row[i]) for row in rows))
    shown = grid(*table.columns, right=numeric)
    for row in rows:
        shown.add_row(*(Text(cell(value)) for value in row))
    console().print(shown if rows else "No rows.")


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def planned_tasks(tasks: Sequence[PlannedTask]) -> None:
    """A plan's tasks with pre-flight's judgement, then the tree of what depends on what."""
    shown = grid("task", "title", "band", "score", "budget", "writes", "status", right=("score", "budget"))
    for planned in tasks:
        task, judged = planned.task, planned.assessment
        shown.add_row(
            Text(task.key),
            Text(one_line(task.title, 60)),
            judged.band,
            str(judged.score),
            str(task.tool_call_budget),
            Text("\n".join(clean(path) for path in task.files_written)),
            status_text(planned.status),
        )
    console().print(shown)
    console().print(dependency_tree([planned.task.key for planned in tasks], _needs(tasks)))


def _needs(tasks: Sequence[PlannedTask]) -> dict[str, tuple[str, ...]]:
    return {planned.task.key: planned.task.depends_on for planned in tasks}


def dependency_tree(keys: Iterable[str], needs: Mapping[str, Sequence[str]]) -> Tree:
    """Each task under the first task that it waits for; further ones are named behind it."""
    tree = Tree(Text("order of execution", style="dim"), guide_style="dim")
    nodes: dict[str, Tree] = {}
    waiting = list(keys)
    while waiting:
        ready = [key for key in waiting if not needs[key] or needs[key][0] in nodes] or waiting
        for key in ready:
            first, *others = needs[key] or ("",)
            also = f" (after {', '.join(others)} too)" if others else ""
            nodes[key] = nodes.get(first, tree).add(Text(clean(key + also)))
        waiting = [key for key in waiting if key not in nodes]
    return tree


def states_table(tasks: Sequence[TaskState]) -> RichTable:
    """What has become of each task."""
    shown = grid("task", "title", "status", "attempts", "calls", "QC", "time", "why", right=("attempts", "calls", "QC"))
    for state in tasks:
        why = f"waits for {state.blocked_by}" if state.blocked_by else state.stop_reason
        shown.add_row(
            Text(state.task.key),
            Text(one_line(state.task.title, 50)),
            status_text(state.status),
            str(state.attempt_number or ""),
            count(state.tool_call_count),
            count(state.qc_score),
            duration(state.duration_ms),
            Text(one_line(why or "", 60)),
        )
    return shown


def attempts_table(rows: Iterable[Mapping[str, Any]]) -> RichTable:
    """A run's or a task's attempts."""
    shown = grid(
        "attempt",
        "task",
        "no.",
        "status",
        "ended by",
        "calls",
        "tokens",
        "cost",
        "time",
        right=("no.", "calls", "tokens"),
    )
    for row in rows:
        shown.add_row(
            row["attempt"],
            Text(row["task"]),
            str(row["number"]),
            status_text(row["status"]),
            row["stopReason"] or "",
            count(row["toolCalls"]),
            tokens(int(row["tokens"] or 0)),
            money(row["costUsd"]),
            duration(row["durationMs"]),
        )
    return shown
