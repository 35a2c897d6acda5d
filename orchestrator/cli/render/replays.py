"""What replays came to, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from orchestrator.cli.render.screen import grid
from orchestrator.cli.render.text import one_line


def replays_view(replays: Sequence[Mapping[str, Any]]) -> RenderableType:
    """One line a replay: its calls, what would have stopped it when, and what would have been warned of."""
    shown = grid("id", "calls", "stopped by", "at call", "saved", "warnings", right=("calls", "at call", "saved"))
    for replay in replays:
        stop = replay["stop"]
        by = f"{stop['guard']} ({stop['reason']})" if stop else ""
        at = str(stop["atToolCall"]) if stop else ""
        saved = str(max(replay["calls"] - stop["atToolCall"], 0)) if stop else ""
        warnings = ", ".join(f"{w['guard']} at {w['atToolCall']}" for w in replay["warnings"])
        shown.add_row(Text(one_line(replay["id"], 80)), str(replay["calls"]), by, at, saved, Text(one_line(warnings)))
    stopped = sum(1 for replay in replays if replay["stop"])
    return Group(shown, Text(f"\n{stopped} of {len(replays)} would have been stopped."))
