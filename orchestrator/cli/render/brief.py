"""The demo's story in short: a line a task while it runs, then what came of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from orchestrator.cli.render.text import clean, duration, ended_by, money, one_line, tokens
from orchestrator.domain import progress as p
from orchestrator.domain.text import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

LOOK = ("status", "show", "show report --diff", "query --name why-failed")


def introduction(folder: str) -> str:
    """What stands above: where it happens, and what of it is real."""
    return f"Sample repository: {folder}\nThe model is scripted; tools, checks and graph are real."


def look_further(folder: str, program: str) -> str:
    """The commands that say more, to be copied: lines that are longer than the terminal are the terminal's to wrap."""
    commands = (f"cd {folder}", *(f"{program} {rest}" for rest in LOOK))
    return "look     " + "\n         ".join(commands)


def farewell(program: str) -> str:
    """What stands below when it went as told."""
    return f'The demo went as told. In your own repository:\n{program} plan "what you want"'


class Brief:
    """A fold over progress. Calling it with an event gives the line that is said of it; `ending` what stands below."""

    def __init__(self) -> None:
        self._width = 0
        self._score: dict[str, int | None] = {}
        self._statuses: dict[str, str] = {}
        self._why: list[str] = []
        self._ended: p.RunEnded | None = None
        self._phases = 0

    def __call__(self, event: p.Progress) -> str | None:
        """The line of an event that is worth one."""
        match event:
            case p.PhaseStarted():
                self._phases += 1
            case p.PhaseEnded():
                self._phases -= 1
            case p.Waiting() if not self._phases:  # else it is the phase that waits, which is shown as such
                return one_line(event.message, 200)
            case p.RoundEnded():
                return f"planned: {counted(event.tasks, 'task')}"
            case p.RunStarted():
                self._width = max(len(clean(task)) for task in event.tasks)
            case p.AttemptFinished():
                self._finish(event)
            case p.TaskEnded():
                return self._line(event)
            case p.RunEnded():
                self._ended = event
        return None

    def _finish(self, event: p.AttemptFinished) -> None:
        self._score[event.task] = event.qc_score
        if event.status != "accepted":
            self._why.append(f"{clean(event.task)} #{event.attempt} {event.status}: {ended_by(event.stop_reason)}")

    def _line(self, event: p.TaskEnded) -> str:
        self._statuses[event.task] = event.status
        said = ended_by(event.reason, event.max_stopped)
        if event.status == "completed":
            said = f"attempt {event.attempts}, QC {self._score.get(event.task)}"
        return f"{clean(event.task).ljust(self._width)}  {event.status.ljust(9)}  {said}"

    def ending(self) -> RenderableType:
        """Outcome, branch, cost, and why."""
        from rich.table import Column, Table
        from rich.text import Text

        rows = {"outcome": self._outcome(), "why": "\n".join(self._why)}
        if (run := self._ended) is not None:
            rows["branch"] = f"{clean(run.branch)}: git merge {clean(run.branch)}"
            rows["cost"] = f"{money(run.cost_usd)}, {tokens(run.tokens)} tokens, {duration(run.duration_ms)}"
        table = Table.grid(Column(no_wrap=True), Column(overflow="fold"), padding=(0, 2))
        for name in ("outcome", "branch", "cost", "why"):
            if rows.get(name):
                table.add_row(Text(name, style="dim"), Text(rows[name]))
        return table

    def _outcome(self) -> str:
        statuses = Counter(self._statuses.values())
        others = [f"{number} {status}" for status, number in statuses.items() if status != "completed"]
        return ", ".join([f"{statuses['completed']} of {statuses.total()} tasks completed", *others])
