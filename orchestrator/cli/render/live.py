"""The live display on a terminal: open tasks with their current call, budget, tokens, cost and time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.console import RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from orchestrator.cli.progress import IN_PLACE, line
from orchestrator.cli.render.screen import console, grid
from orchestrator.cli.render.text import clean, duration, money, one_line, tokens
from orchestrator.domain import progress as p

PLANNING = "plan"  # what the events of a planning round have as their task


@dataclass
class _Row:
    """An open attempt as it is shown."""

    attempt: int
    budget: int
    used: int = 0
    now: str = ""
    tokens: int = 0
    cost_usd: float | None = 0.0
    since: float = field(default_factory=time.monotonic)


class LiveScreen:
    """A listener that redraws a table on stderr; what is worth keeping scrolls by above it."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._rows: dict[str, _Row] = {}
        self._lock = threading.RLock()  # a signal may report while the main thread does
        self._console = console(stderr=True)
        self._live = Live(
            get_renderable=self._table,
            console=self._console,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
        )

    def __enter__(self) -> LiveScreen:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, event: p.Progress) -> None:
        """Show one event."""
        with self._lock:
            self._apply(event)
        text = None if isinstance(event, IN_PLACE) else line(event)
        if text is not None:
            self._console.print(Text(self._redact(text)))

    def _apply(self, event: p.Progress) -> None:
        if isinstance(event, p.TaskClaimed):
            self._rows[event.task] = _Row(event.attempt, event.budget)
        elif isinstance(event, p.RoundStarted):
            self._rows[PLANNING] = _Row(event.number, 0)
        elif isinstance(event, p.AttemptFinished | p.TaskEnded | p.RoundEnded):
            self._rows.pop(getattr(event, "task", PLANNING), None)
        elif row := self._rows.get(getattr(event, "task", "")):
            row.now = _doing(event) or row.now
            row.used = getattr(event, "calls_used", row.used)
            row.budget = getattr(event, "budget", row.budget)
            row.tokens = getattr(event, "tokens", row.tokens)
            row.cost_usd = getattr(event, "cost_usd", row.cost_usd)

    def _table(self) -> RenderableType:
        if not self._rows:
            return Text()
        table = grid("task", "now", "budget", "", "tokens", "cost", "time", right=("tokens", "cost", "time"))
        with self._lock:
            rows = list(self._rows.items())
        for task, row in rows:
            table.add_row(
                Text(f"{clean(task)} #{row.attempt}"),
                Text(self._redact(one_line(row.now, 60))),
                ProgressBar(total=max(row.budget, 1), completed=min(row.used, row.budget), width=12),
                f"{row.used}/{row.budget}",
                tokens(row.tokens),
                money(row.cost_usd),
                duration((time.monotonic() - row.since) * 1000),
            )
        return table


def _doing(event: p.Progress) -> str:
    if isinstance(event, p.CallStarted):
        return f"{event.tool} {event.summary}"
    if isinstance(event, p.TurnStarted):
        return f"asks the model (turn {event.turn})"
    if isinstance(event, p.ChecksStarted):
        return f"checks: {', '.join(event.commands)}"
    return "QC reviews" if isinstance(event, p.ReviewStarted) else ""
