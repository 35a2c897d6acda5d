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
from functools import partial
from typing import TYPE_CHECKING, Any

from orchestrator.cli.phases import LateLines, show_check, show_phase, write_line
from orchestrator.cli.render.text import clean, duration, ended_by, one_line, spent
from orchestrator.domain import progress as p
from orchestrator.domain.live_text import unwatched
from orchestrator.domain.text import counted

if TYPE_CHECKING:
    from orchestrator.app import App

_log = logging.getLogger("orchestrator.progress")


Teller = Callable[[p.Progress], str | None]
"""What is said of an event in a line; None where it is not worth one."""


@contextmanager
def shown_progress(app: App, tell: Teller, *, brief: bool = False, words: bool = True) -> Iterator[None]:
    """The application's listener shows and logs, for as long as the block runs; known secrets are replaced by ***. What
    `tell` says is a line on stderr, above the live display where stderr is a terminal; where it is none, a check that
    takes long is one too, unless all is to be `brief`. The live display has the `words` of replies as they come."""
    if sys.stderr.isatty():
        from orchestrator.cli.render.live import LiveScreen

        with LiveScreen(app.redact, tell) as screen, _listening(app, screen):
            app.live = screen.replies.of if words else unwatched
            try:
                yield
            finally:
                app.live = unwatched
    else:
        with _listening(app, plain_lines(app.redact, tell, brief=brief)):
            yield


@contextmanager
def _listening(app: App, show: p.Listener) -> Iterator[None]:
    def listener(event: p.Progress) -> None:
        fields = json.dumps(asdict(event), default=str, ensure_ascii=False)
        _log.info("%s %s", type(event).__name__, app.redact(fields))
        show(event)

    before, app.listener = app.listener, listener
    try:
        yield
    finally:
        app.listener = before


def plain_lines(redact: Callable[[str], str], tell: Teller, *, brief: bool) -> p.Listener:
    """One line a fact on stderr, and one for what has been going on for a while."""
    phases = LateLines(lambda words: write_line(redact(words)))

    def show(event: p.Progress) -> None:
        show_phase(phases, event)
        if not brief:
            show_check(phases, event)
        if (text := tell(event)) is not None:
            write_line(redact(text))

    return show


def line_teller(*, codes: bool) -> Teller:
    """Every event as its line, with stop codes or without."""
    return partial(line, codes=codes)


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
    untested = ", it finds no test" if e.untested else ""
    told = f"{e.phase}, {duration(e.duration_ms)}{code}{untested}"
    return f"{_who(e)} check {e.outcome}: {one_line(e.command, 80)} ({told})"


def _review(e: p.ReviewStarted) -> str:
    return f"{_who(e)} QC reviews ({clean(e.model)})"


def _attempt_ended(e: p.AttemptFinished, *, codes: bool) -> str:
    score = [] if e.qc_score is None else [f"QC {e.qc_score}"]
    reason = [] if e.stop_reason == e.status else [ended_by(e.stop_reason, codes=codes)]
    why = f" ({', '.join((*reason, *score))})" if reason or score else ""
    detail = f": {one_line(e.detail, 160)}" if e.detail else ""
    used = spent(e.tokens, e.cost_usd, e.reserved_tokens, e.reserved_usd)
    used = f"{e.calls_used}/{e.budget} calls, {used}, {duration(e.duration_ms)}"
    return f"{_who(e)} {e.status}{why}{detail} [{used}]"


def _task_ended(e: p.TaskEnded, *, codes: bool) -> str:
    words = one_line(ended_by(e.reason, e.max_stopped, codes=codes), 120)
    reason = f" ({words})" if e.reason and e.reason != e.status else ""
    used = spent(e.tokens, e.cost_usd, e.reserved_tokens, e.reserved_usd)
    cost = f" [{counted(e.attempts, 'attempt')}, {used}]" if e.attempts else ""
    return f"{clean(e.task)}: {e.status}{reason}{cost}"


def _left_out(e: p.TaskLeftOut) -> str:
    return (
        f"{clean(e.task)} is left out: it ended as {ended_by(e.reason)}, and its prompt, model, budget, paths and base "
        f"are what they were. To try it all the same: {clean(e.command)}"
    )


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
    p.TaskLeftOut: _left_out,
    p.RunEnded: _run_ended,
    p.RoundStarted: _round_started,
    p.RoundEnded: _round_ended,
    p.Waiting: lambda e: f"waiting: {one_line(e.message, 200)}",
}
# What a live display shows in place is not repeated as a line.
IN_PLACE = (p.TurnStarted, p.CallStarted, p.CallFinished, p.CheckStarted, p.TaskClaimed, p.ReviewStarted)


def line(event: p.Progress, *, codes: bool = False) -> str | None:
    """The event as one line, with `codes` the stop codes too; None for what is too fine for a log."""
    if isinstance(event, p.AttemptFinished):
        return _attempt_ended(event, codes=codes)
    if isinstance(event, p.TaskEnded):
        return _task_ended(event, codes=codes)
    render = _LINES.get(type(event))
    return render(event) if render else None
