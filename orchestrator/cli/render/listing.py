"""The plans or runs of a repository, one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from orchestrator.cli.render.screen import STATUS_STYLE
from orchestrator.cli.render.text import one_line

_INSTANTS = ("created", "started", "finished")


def listing_view(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The rows under their columns' names, instants in local time to the minute. A narrow terminal cuts lines at their
    end, where the least stands, and folds none: the ids can be pasted."""
    if not rows:
        return Text("None yet.")
    cells = [list(rows[0]), *([_cell(name, value) for name, value in row.items()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return Group(*(_line(line, widths) for line in cells))


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in _INSTANTS:
        return datetime.fromisoformat(value).astimezone().strftime("%Y-%m-%d %H:%M")
    return one_line(str(value), 90)


def _line(cells: Sequence[str], widths: Sequence[int]) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    for cell, width in zip(cells, widths, strict=True):
        line.append(cell.ljust(width + 2), STATUS_STYLE.get(cell, ""))
    line.rstrip()
    return line
