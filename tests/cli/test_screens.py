"""What is shown while one waits, and tables that fit the terminal: no blank screen, no broken word."""

from __future__ import annotations

import io
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import RenderableType

from orchestrator.app import App
from orchestrator.cli.phases import LateLines, LineInPlace, PhaseListener, show_check, show_phase
from orchestrator.cli.render.board import Board
from orchestrator.cli.render.overview import status_view
from orchestrator.cli.render.plans import plan_view
from orchestrator.cli.render.screen import present
from orchestrator.cli.render.tables import attempts_table, states_table
from orchestrator.domain import progress as p
from orchestrator.domain.lifecycle import TaskStatus
from orchestrator.domain.plan import Plan
from orchestrator.domain.task import TaskState
from orchestrator.domain.usage import Usage
from orchestrator.reports.status import PlanOverview
from tests.support.samples import new_plan
from tests.support.screens import drawn
from tests.support.story import Story

AT = datetime(2026, 11, 22, tzinfo=UTC)
TITLE = "Report a list of values in one line, also an empty one"


def _plan() -> Plan:
    plan = new_plan(3)
    named = [replace(planned.task, key=f"average-{planned.task.key}-in-s", title=TITLE) for planned in plan.tasks]
    tasks = (replace(planned, task=task) for planned, task in zip(plan.tasks, named, strict=True))
    return replace(plan, tasks=tuple(tasks))


def _states() -> list[TaskState]:
    ends: list[tuple[TaskStatus, str | None, str | None]] = [
        ("completed", None, None),
        ("failed", "stops_exhausted", None),
        ("blocked", None, "average-duration"),
    ]
    return [
        TaskState(
            task=planned.task,
            status=status,
            attempt_number=2,
            stop_reason=reason,
            assessment=None,
            qc_score=96,
            tool_call_count=14,
            duration_ms=200_000,
            blocked_by=blocked_by,
        )
        for planned, (status, reason, blocked_by) in zip(_plan().tasks, ends, strict=True)
    ]


def _attempts() -> RenderableType:
    row = {"attempt": "tk3j9x2m7q:1", "task": "average-duration", "number": 1, "status": "interrupted"}
    used = {"stopReason": "context_exhausted", "outcome": "error", "reservedTokens": 0}
    used |= {"turns": 99, "toolCalls": 120, "tokens": 1_250_000}
    return attempts_table([row | used | {"costUsd": 1.25, "durationMs": 4_000_000}])


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize(
    ("view", "kept"),
    [
        (states_table(_states(), stops=2), ("average-t0-in-s", "failed", "waits")),
        (plan_view(_plan()), ("average-t2-in-s", "pending", "budget")),
        (_attempts(), ("tk3j9x2m7q:1", "interrupted", "context")),
    ],
    ids=["states", "plan", "attempts"],
)
def test_tables_fit_narrow_terminals_without_a_broken_word(
    view: RenderableType, kept: tuple[str, ...], width: int
) -> None:
    """Every word on the narrow screen stands on the wide one too, no line is too long, and what matters is there."""
    narrow = drawn(view, width)
    assert all(len(line) <= width for line in narrow.splitlines())
    assert {word.strip("─") for word in narrow.split()} <= {word.strip("─") for word in drawn(view, 400).split()}
    assert set(kept) <= set(narrow.split())


def test_columns_go_in_the_order_of_their_weight() -> None:
    """What matters least is left out first: with room for all there are all, then the title goes, then more."""
    heads = [set(drawn(states_table(_states(), stops=2), width).splitlines()[0].split()) for width in (60, 80, 160)]
    assert heads[0] < heads[1] < heads[2]
    assert {"task", "status", "why"} <= heads[0]
    assert "title" in heads[2] - heads[1]


def test_a_word_longer_than_the_terminal_is_shortened() -> None:
    """There a cell ends in an ellipsis, on one line, as do the others."""
    (state, *_) = _states()
    long = replace(state, task=replace(state.task, key="k" * 70))
    assert len(drawn(states_table([long]), 60).splitlines()) == 3
    assert "k…" in drawn(states_table([long]), 60)


def test_a_path_is_not_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is copied from a narrow terminal is whole: the terminal wraps it, and knows that it is one line."""
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    log = Path("/a/folder/whose/name/is/longer/than/the/terminal/orchestrate.log")
    found = PlanOverview(plan=_plan(), run=None, tasks=tuple(_states()), spend=Usage(), activity=())
    present({}, status_view(found, log), as_json=False)
    assert f"log: {log}" in terminal.getvalue()


def _told(*statuses: str, limit: float | None = None) -> p.RunStarted:
    return p.RunStarted(
        at=AT,
        run_id="r1",
        plan_id="p1",
        branch="orchestrate/r1",
        tasks=tuple(f"task-{number}" for number in range(len(statuses))),
        statuses=statuses,
        parallelism=2,
        sandbox_level="none",
        tokens=1_000,
        cost_usd=0.5,
        max_cost_usd=limit,
    )


def _claimed(number: int) -> p.TaskClaimed:
    return p.TaskClaimed(at=AT, task=f"task-{number}", attempt=1, attempt_id="a", title="t", budget=20)


def _turn(tokens: int) -> p.TurnStarted:
    return p.TurnStarted(
        at=AT,
        task="task-1",
        attempt=1,
        turn=1,
        turns=30,
        calls_used=3,
        budget=20,
        tokens=tokens,
        cost_usd=tokens / 1_000,
    )


def test_the_board_has_the_run_in_one_line_and_every_task() -> None:
    """Tasks done of all, the time, what it cost so far (with QC and what an earlier process spent) and the limit; what
    is worked on in detail, the others a line each."""
    seconds = iter([0.0, 10.0, 10.0])
    board = Board(clock=lambda: next(seconds, 75.0))
    review = p.ReviewStarted(at=AT, task="task-1", attempt=1, model="m")
    for event in (_told("completed", "pending", "blocked", limit=5.0), _claimed(1), _turn(200), review, _turn(50)):
        board.apply(event)
    lines = drawn(board.view(20), 80).splitlines()
    assert lines[0] == "1/3 tasks  1 min 5 s  $0.75 of $5.00  1.2k tokens"
    assert lines[3].split()[:5] == ["task-1", "#1", "asks", "the", "model"]
    assert lines[4:] == ["task-0  completed", "task-2  blocked"]


def test_the_board_folds_what_does_not_fit() -> None:
    """On a low terminal failures and what is to come stand before what is done, and the rest is counted."""
    board = Board(clock=lambda: 0.0)
    for event in (_told(*["completed"] * 9, "failed", *["pending"] * 30), _claimed(20)):
        board.apply(event)
    lines = drawn(board.view(10), 60).splitlines()
    assert len(lines) == 10
    assert lines[3].startswith("task-20 #1")
    assert lines[4] == "task-9   failed"
    assert lines[-1] == "… and 34 more: 25 pending, 9 completed"


def test_a_phase_is_on_the_board_with_its_time() -> None:
    """Before there is a run, and beside one; it is gone when it is over."""
    seconds = iter([0.0, 1.0])
    board = Board(clock=lambda: next(seconds, 4.5))
    board.apply(p.PhaseStarted(at=AT, words="opening the graph"))
    assert drawn(board.view(9), 60).splitlines() == ["starting  4.5 s", "opening the graph  3.5 s"]
    board.apply(p.PhaseEnded(at=AT, words="opening the graph"))
    assert drawn(board.view(9), 60).splitlines() == ["starting  4.5 s"]


def test_a_pipe_gets_a_line_of_what_takes_long_and_of_nothing_else() -> None:
    """A phase that is over in time is not worth a line; a check is said with its number, its phase and its command."""
    lines: list[str] = []
    written = threading.Event()

    def write(line: str) -> None:
        lines.append(line)
        written.set()

    patient, hasty = LateLines(write, after_s=3_600), LateLines(write, after_s=0)
    show_phase(patient, p.PhaseStarted(at=AT, words="opening the graph"))
    show_phase(patient, p.PhaseEnded(at=AT, words="opening the graph"))
    assert lines == []
    show_check(hasty, p.CheckStarted(at=AT, task="t", attempt=1, command="make", phase="merge", number=2, total=3))
    assert written.wait(30)
    assert lines == ["t #1 merge check 2/3 make"]


class _Terminal(io.StringIO):
    """A stderr that is a terminal, and says when something was written that ends in a time."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if text.endswith("s"):
            self.drawn.set()
        return super().write(text)


def test_a_terminal_shows_what_goes_on_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The phase and its time on one line, which is cleared for a message, and when the phase is over."""
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    line = LineInPlace(tick_s=0)
    line.begin("graph", "opening the graph")
    assert terminal.drawn.wait(30)
    line.end("graph")
    shown = terminal.getvalue()
    assert shown.startswith("\r\x1b[Kopening the graph  ")
    assert shown.endswith("\r\x1b[K")
    assert "\n" not in shown


def test_opening_the_graph_is_told_to_whoever_waits(fresh: Story) -> None:
    """Also where no progress is shown, as in `status`: it begins before anything is waited for, and ends."""
    told: list[p.Progress] = []
    with App(fresh.repository, fresh.environ, flags={}, on_wait=lambda _message: None) as app:
        app.listener = told.append
        assert app.graph.query("RETURN 1 AS one").rows
    assert [(type(event), getattr(event, "words", "")) for event in told] == [
        (p.PhaseStarted, "opening the graph"),
        (p.PhaseEnded, "opening the graph"),
    ]


def test_a_message_in_a_phase_is_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits says why it waits, beside the phase in which it does."""
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    PhaseListener().say("The graph does not answer.")
    assert terminal.getvalue() == "\r\x1b[KThe graph does not answer.\n"
