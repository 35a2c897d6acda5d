"""What the live screen shows: the run in one line, the tasks that are worked on in detail, the others a line each.

A fold over progress, so that it can be drawn of recorded events at any width.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from orchestrator.cli.live_text import NewestWords
from orchestrator.cli.phases import check_words
from orchestrator.cli.render.grid import Grid, Growing
from orchestrator.cli.render.screen import status_text
from orchestrator.cli.render.text import clean, duration, ended_by, money, one_line, tokens
from orchestrator.domain import progress as p

PLANNING = "plan"  # what the events of a planning round have as their task
COLUMNS = ("task", "now", "for", "calls", "tokens", "cost", "time")
DROPPED_FIRST = ("cost", "tokens", "time", "calls")
LONGEST_LINE = 500
FRAME = 3  # lines beside those of tasks: the overall one, a table's head and its rule
FIRST_SHOWN = ("failed", "blocked", "pending", "completed")


@dataclass
class BoardRow:
    """A task as it is shown. Tokens and dollars are the conversation's under way; the time of `now` since `now_since`,
    of the attempt since `since`."""

    status: str = "pending"
    why: str = ""
    attempt: int = 0
    budget: int = 0
    used: int = 0
    now: str = ""
    now_since: float = 0.0
    since: float = 0.0
    tokens: int = 0
    cost_usd: float | None = 0.0


class Board:
    """The state of the screen. `redact` replaces secrets; `clock` gives seconds that never go backwards; `newest` is
    what has come of a task's reply under way."""

    def __init__(
        self,
        redact: Callable[[str], str] = str,
        clock: Callable[[], float] = time.monotonic,
        newest: Callable[[str], NewestWords | None] = lambda _task: None,
    ) -> None:
        self._redact, self._clock, self._newest = redact, clock, newest
        self._began = clock()
        self._rows: dict[str, BoardRow] = {}
        self._phases: dict[str, float] = {}
        self._run: p.RunStarted | None = None
        self._tokens = 0
        self._cost_usd: float | None = 0.0

    def apply(self, event: p.Progress) -> None:
        """Take one event in."""
        match event:
            case p.RunStarted():
                self._start(event)
            case p.TaskClaimed():
                self._open(event.task, event.attempt, event.budget)
            case p.RoundStarted():
                self._open(PLANNING, event.number, 0)
            case p.RoundEnded():
                self._settle(PLANNING)
                self._rows.pop(PLANNING, None)
            case p.AttemptFinished():
                self._settle(event.task)
                self._row(event.task).status = "pending"
            case p.TaskEnded():
                row = self._row(event.task)
                row.status, row.why = event.status, self._redact(_why(event))
            case p.PhaseStarted():
                self._phases[self._redact(event.words)] = self._clock()
            case p.PhaseEnded():
                self._phases.pop(self._redact(event.words), None)
            case _:
                self._go_on(event)

    def _start(self, event: p.RunStarted) -> None:
        self._run, self._began = event, self._clock()
        self._tokens, self._cost_usd = event.tokens, event.cost_usd
        statuses = event.statuses or ("pending",) * len(event.tasks)
        self._rows = {task: BoardRow(status) for task, status in zip(event.tasks, statuses, strict=True)}

    def _open(self, task: str, attempt: int, budget: int) -> None:
        now = self._clock()
        self._rows[task] = BoardRow("running", attempt=attempt, budget=budget, now_since=now, since=now)

    def _row(self, task: str) -> BoardRow:
        return self._rows.setdefault(task, BoardRow())

    def _go_on(self, event: p.Progress) -> None:
        row = self._rows.get(getattr(event, "task", ""))
        if row is None:
            return
        if isinstance(event, p.ReviewStarted):  # QC's conversation counts from nought
            self._settle(event.task)
        if doing := _doing(event):
            row.now, row.now_since = self._redact(doing), self._clock()
        row.used = getattr(event, "calls_used", row.used)
        row.budget = getattr(event, "budget", row.budget)
        row.tokens = getattr(event, "tokens", row.tokens)
        row.cost_usd = getattr(event, "cost_usd", row.cost_usd)

    def _settle(self, task: str) -> None:
        """Count what the conversation has used with the run's."""
        row = self._row(task)
        self._tokens, self._cost_usd = self._tokens + row.tokens, _sum(self._cost_usd, row.cost_usd)
        row.tokens, row.cost_usd = 0, 0.0

    def view(self, height: int) -> RenderableType:
        """The screen in at most `height` lines, as wide as it is drawn."""
        running = [(task, row) for task, row in self._rows.items() if row.status == "running"]
        others = [(task, row) for task, row in self._rows.items() if row.status != "running"]
        phases = [Text(f"{one_line(words)}  {self._since(since)}") for words, since in list(self._phases.items())]
        room = max(height - FRAME - len(phases), 2)
        shown = running[: room - 1]
        parts: list[RenderableType] = [_line(self._overall()), *phases]
        if shown:
            parts.append(self._detail(shown))
        return Group(*parts, *_folded(running[len(shown) :] + others, room - len(shown)))

    def _overall(self) -> str:
        used, cost = self._spent()
        elapsed, run = self._since(self._began), self._run
        if run is None:
            return (
                f"planning  {elapsed}  {money(cost)}  {tokens(used)} tokens" if self._rows else f"starting  {elapsed}"
            )
        done = sum(row.status == "completed" for row in self._rows.values())
        deadline = "" if run.deadline_s is None else f" of {duration(run.deadline_s * 1000)}"
        dollars = "" if run.max_cost_usd is None else f" of {money(run.max_cost_usd)}"
        most = "" if run.max_tokens is None else f" of {tokens(run.max_tokens)}"
        return (
            f"{done}/{len(self._rows)} tasks  {elapsed}{deadline}  {money(cost)}{dollars}  {tokens(used)}{most} tokens"
        )

    def _spent(self) -> tuple[int, float | None]:
        """Tokens and dollars of the run, conversations under way included."""
        used, cost = self._tokens, self._cost_usd
        for row in self._rows.values():
            used, cost = used + row.tokens, _sum(cost, row.cost_usd)
        return used, cost

    def _detail(self, rows: list[tuple[str, BoardRow]]) -> Grid:
        grid = Grid(COLUMNS, right=("calls", "tokens"), drop=DROPPED_FIRST, clip=("now",))
        for task, row in rows:
            grid.add_row(
                f"{clean(task)} #{row.attempt}",
                self._now(task, row),
                self._since(row.now_since),
                f"{row.used}/{row.budget}" if row.budget else str(row.used),
                tokens(row.tokens),
                money(row.cost_usd),
                self._since(row.since),
            )
        return grid

    def _now(self, task: str, row: BoardRow) -> Text:
        """What goes on: of a reply under way how soon it began to come, and its newest words."""
        came = self._newest(task)
        if came is None:
            return Text(one_line(row.now))
        return Growing(f"answers after {duration(came.first_ms)}: ", one_line(came.words, LONGEST_LINE))

    def _since(self, began: float) -> str:
        return duration((self._clock() - began) * 1000)


def _folded(rows: list[tuple[str, BoardRow]], room: int) -> Iterator[Text]:
    """A line for each task, in as many lines as there are: beyond that those that matter most, and the rest counted."""
    folded: Counter[str] = Counter()
    if len(rows) > room:
        rank = {status: place for place, status in enumerate(FIRST_SHOWN)}
        rows = sorted(rows, key=lambda each: rank.get(each[1].status, -1))
        folded.update(row.status for _, row in rows[room - 1 :])
        rows = rows[: room - 1]
    width = max((len(clean(task)) for task, _ in rows), default=0)
    for task, row in rows:
        status = status_text(row.status.ljust(9) if row.why else row.status)
        yield _line(clean(task).ljust(width), "  ", status, f"  {row.why}" if row.why else "")
    if folded:
        said = ", ".join(f"{count} {status}" for status, count in folded.items())
        yield _line(f"… and {folded.total()} more: {said}", style="dim")


def _line(*parts: str | Text, style: str = "") -> Text:
    return Text.assemble(*parts, style=style, no_wrap=True, overflow="ellipsis")


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _why(event: p.TaskEnded) -> str:
    return "" if event.status == "completed" else one_line(ended_by(event.reason, event.max_stopped))


def _doing(event: p.Progress) -> str:
    match event:
        case p.CallStarted():
            return f"{event.tool} {event.summary}"
        case p.TurnStarted():
            return f"asks the model (turn {event.turn} of {event.turns})"
        case p.CheckStarted():
            return check_words(event)
        case p.ReviewStarted():
            return "QC reviews"
        case _:
            return ""
