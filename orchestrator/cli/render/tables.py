"""Tables of results: a query's answer, a plan's tasks, a run's attempts, what replays came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from orchestrator.cli.render.grid import Grid
from orchestrator.cli.render.machine import json_ready
from orchestrator.cli.render.screen import PIPE_WIDTH, console, grid, status_text
from orchestrator.cli.render.text import came_to, cell, count, duration, ended_by, money, one_line, tokens
from orchestrator.domain.lives import FindingLife
from orchestrator.domain.query import QueryResult
from orchestrator.domain.stop_reasons import in_words
from orchestrator.domain.task import TaskState

MOST_PASSES, MOST_LIVES = 8, 20
WIDEST = 160  # characters of a table where there is no terminal to measure


def print_table(table: QueryResult) -> None:
    """A query's answer, numbers to the right; row by row where it is too wide; says so when there are no rows."""
    rows = [[json_ready(value) for value in row] for row in table.rows]
    if not rows:
        return console().print("No rows.")
    shown = _grid(table.columns, rows)
    screen = console()
    room = screen.width if screen.is_terminal else WIDEST
    wide = Measurement.get(screen, screen.options.update(width=PIPE_WIDTH), shown).maximum > room
    return screen.print(_records(table.columns, rows) if wide else shown)


def _grid(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Grid:
    numeric = tuple(column for i, column in enumerate(columns) if all(_is_number(row[i]) for row in rows))
    shown = grid(*columns, right=numeric)
    for row in rows:
        shown.add_row(*(Text(cell(value)) for value in row))
    return shown


def _records(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Group:
    """Each row as its columns one under the other."""
    parts: list[RenderableType] = []
    for number, row in enumerate(rows, start=1):
        record = Table.grid(Column(), Column(overflow="fold"), padding=(0, 2))  # what was asked for is shown whole
        for column, value in zip(columns, row, strict=True):
            record.add_row(Text(column, style="dim"), Text(cell(value)))
        parts += [Text(f"row {number} of {len(rows)}", style="bold"), record]
    return Group(*parts)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def states_table(tasks: Sequence[TaskState], *, stops: int | None = None, codes: bool = False) -> Grid:
    """What has become of each task; `stops` is how many attempts of one a bound may stop, `codes` shows stop codes."""
    shown = grid(
        *("task", "title", "status", "attempts", "calls", "QC", "time", "why"),
        right=("attempts", "calls", "QC"),
        drop=("title", "time", "calls", "QC", "attempts"),
    )
    for state in tasks:
        reason = "" if state.status == "completed" else ended_by(state.stop_reason, stops, codes=codes)
        why = f"waits for {state.blocked_by}" if state.blocked_by else reason
        shown.add_row(
            Text(state.task.key),
            Text(one_line(state.task.title, 50)),
            status_text(state.status),
            str(state.attempt_number or ""),
            count(state.tool_call_count),
            count(state.qc_score),
            duration(state.duration_ms),
            Text(one_line(why, 60)),
        )
    return shown


def attempts_table(rows: Iterable[Mapping[str, Any]], *, codes: bool = False) -> Grid:
    """A run's or a task's attempts; `codes` shows stop codes."""
    shown = grid(
        *("attempt", "task", "no.", "status", "ended by", "came to", "turns", "calls", "tokens", "cost", "time"),
        right=("no.", "turns", "calls", "tokens"),
        drop=("turns", "time", "cost", "tokens", "came to", "task", "no.", "calls"),
    )
    for row in rows:
        shown.add_row(
            row["attempt"],
            Text(row["task"]),
            str(row["number"]),
            status_text(row["status"]),
            ended_by(row["stopReason"], codes=codes),
            came_to(row["outcome"]),
            count(row["turns"]),
            count(row["toolCalls"]),
            _tokens(row),
            money(row["costUsd"]),
            duration(row["durationMs"]),
        )
    return shown


def lives_table(lives: Sequence[FindingLife], passes: Sequence[int]) -> RenderableType:
    """What became of each finding: one column for each of the last attempts that came to a check pass."""
    last = passes[-MOST_PASSES:]
    shown = grid("finding", "where", *(f"#{number}" for number in last))
    newest = sorted(lives, key=lambda life: -life.marks[-1][0])[:MOST_LIVES]
    for life in newest:
        marks = dict(life.marks)
        shown.add_row(Text(life.code), Text(one_line(life.locus, 50)), *(marks.get(n, "") for n in last))
    left = len(lives) - len(newest)
    return Group(shown, Text(f"and {left} more: --json has all")) if left else shown


def _tokens(row: Mapping[str, Any]) -> str:
    reserved = f" (+{tokens(row['reservedTokens'])} reserved)" if row["reservedTokens"] else ""
    return f"{tokens(row['tokens'])}{reserved}"


def replays_view(replays: Sequence[Mapping[str, Any]]) -> RenderableType:
    """One line a replay: its calls, what would have stopped it when, and what would have been warned of."""
    shown = grid(
        *("id", "calls", "stopped by", "at call", "saved", "warnings"),
        right=("calls", "at call", "saved"),
        drop=("saved", "calls", "warnings"),
    )
    for replay in replays:
        stop = replay["stop"]
        by = f"{stop['guard']} ({in_words(stop['reason'])})" if stop else ""
        at = str(stop["atToolCall"]) if stop else ""
        saved = str(max(replay["calls"] - stop["atToolCall"], 0)) if stop else ""
        warnings = ", ".join(f"{w['guard']} at {w['atToolCall']}" for w in replay["warnings"])
        shown.add_row(Text(one_line(replay["id"], 80)), str(replay["calls"]), by, at, saved, Text(one_line(warnings)))
    stopped = sum(1 for replay in replays if replay["stop"])
    return Group(shown, Text(f"\n{stopped} of {len(replays)} would have been stopped."), *_unjudged(replays))


def _unjudged(replays: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """The rules that traces do not tell enough for, and in how many of them."""
    for why, times in Counter(why for replay in replays for why in replay["unjudged"]).items():
        yield Text(f"Not judged, or by a guess, in {times} of {len(replays)}: {why}.")
