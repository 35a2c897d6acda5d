"""Where progress goes: a live display on a terminal, plain lines elsewhere, and always the log.

The lines are what stderr gets where it is no terminal, and what scrolls above the live display.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from orchestrator.cli.render.text import clean, duration, one_line, spent
from orchestrator.domain import progress as p
from orchestrator.domain.text import counted

if TYPE_CHECKING:
    from orchestrator.app import App

_log = logging.getLogger("orchestrator.progress")


@contextmanager
def shown_progress(app: App) -> Iterator[None]:
    """The application's listener shows and logs, for as long as the block runs; known secrets are replaced by ***."""
    if sys.stderr.isatty():
        from orchestrator.cli.render.live import LiveScreen

        with LiveScreen(app.redact) as screen, _listening(app, screen):
            yield
    else:
        with _listening(app, plain_lines(app.redact)):
            yield


@contextmanager
def _listening(app: App, show: p.Listener) -> Iterator[None]:
    def listener(event: p.Progress) -> None:
        fields = json.dumps(asdict(event), default=str, ensure_ascii=False)
        _log.info("%s %s", type(event).__name__, app.redact(fields))
        show(event)

    app.listener = listener
    try:
        yield
    finally:
        app.listener = p.silent


def plain_lines(redact: Callable[[str], str]) -> p.Listener:
    """One line a fact on stderr. A reader of stderr who left must not stop the run."""

    def show(event: p.Progress) -> None:
        text = line(event)
        if text is None:
            return
        try:
            sys.stderr.write(redact(text) + "\n")
            sys.stderr.flush()
        except (BrokenPipeError, ValueError, RuntimeError):  # closed, or a signal spoke while the main thread wrote
            return

    return show


def _run_started(e: p.RunStarted) -> str:
    verb = "joins" if e.joined else "starts"
    bounds = f", bounded by {', '.join(e.bounds)}" if e.bounds else ""
    return (
        f"run {e.run_id} {verb} on branch {e.branch}: {counted(len(e.tasks), 'task')}, {e.parallelism} at once, "
        f"sandbox {e.sandbox_level}{bounds}"
    )


def _claimed(e: p.TaskClaimed) -> str:
    return f"{_who(e)} begins: {one_line(e.title, 60)} (budget {e.budget} calls)"


def _call(e: p.CallFinished) -> str:
    mark = "" if e.status == "ok" else f" [{e.status}]"
    return f"{_who(e)} {e.calls_used}/{e.budget} {clean(e.tool)} {one_line(e.summary, 80)}{mark}"


def _guard(e: p.GuardSpoke) -> str:
    verb = {"warn": "warns", "refuse": "refuses", "stop": "stops"}[e.verdict.kind]
    return f"{_who(e)} guard {e.verdict.guard} {verb}: {one_line(e.verdict.message, 160)}"


def _check(e: p.CheckFinished) -> str:
    code = "" if e.exit_code is None else f", exit {e.exit_code}"
    return f"{_who(e)} check {e.outcome}: {one_line(e.command, 80)} ({duration(e.duration_ms)}{code})"


def _review(e: p.ReviewStarted) -> str:
    return f"{_who(e)} QC reviews ({clean(e.model)})"


def _attempt_ended(e: p.AttemptFinished) -> str:
    score = "" if e.qc_score is None else f", QC {e.qc_score}"
    detail = f": {one_line(e.detail, 160)}" if e.detail else ""
    used = f"{e.calls_used}/{e.budget} calls, {spent(e.tokens, e.cost_usd)}, {duration(e.duration_ms)}"
    return f"{_who(e)} {e.status} ({e.stop_reason}{score}){detail} [{used}]"


def _task_ended(e: p.TaskEnded) -> str:
    reason = f" ({one_line(e.reason, 120)})" if e.reason and e.reason != e.status else ""
    used = spent(e.tokens, e.cost_usd, e.reserved_tokens, e.reserved_usd)
    cost = f" [{counted(e.attempts, 'attempt')}, {used}]" if e.attempts else ""
    return f"{clean(e.task)}: {e.status}{reason}{cost}"


def _run_ended(e: p.RunEnded) -> str:
    used = spent(e.tokens, e.cost_usd, e.reserved_tokens, e.reserved_usd)
    return f"run {e.run_id} {e.status}: {used}, {duration(e.duration_ms)}"


def _round_started(e: p.RoundStarted) -> str:
    return f"planning round {e.number} ({e.purpose}, {clean(e.model)})"


def _round_ended(e: p.RoundEnded) -> str:
    found = "".join(f"\n  {one_line(defect, 200)}" for defect in e.defects)
    return f"planning round {e.number}: {counted(e.tasks, 'task')}, {counted(len(e.defects), 'defect')}{found}"


def _who(e: Any) -> str:
    return f"{clean(e.task)} #{e.attempt}"


_LINES: dict[type, Callable[[Any], str]] = {
    p.RunStarted: _run_started,
    p.TaskClaimed: _claimed,
    p.CallFinished: _call,
    p.GuardSpoke: _guard,
    p.CheckFinished: _check,
    p.ReviewStarted: _review,
    p.AttemptFinished: _attempt_ended,
    p.TaskEnded: _task_ended,
    p.RunEnded: _run_ended,
    p.RoundStarted: _round_started,
    p.RoundEnded: _round_ended,
    p.Waiting: lambda e: f"waiting: {one_line(e.message, 200)}",
}
# What a live display shows in place is not repeated as a line.
IN_PLACE = (p.TurnStarted, p.CallStarted, p.CallFinished, p.ChecksStarted, p.TaskClaimed, p.ReviewStarted)


def line(event: p.Progress) -> str | None:
    """The event as one line; None for what is too fine for a log."""
    render = _LINES.get(type(event))
    return render(event) if render else None
