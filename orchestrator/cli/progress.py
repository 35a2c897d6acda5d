"""Where progress goes: a live display on a terminal, plain lines elsewhere, and always the log."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from orchestrator.domain.progress import Listener, Progress, silent

if TYPE_CHECKING:
    from orchestrator.app import App

Redact = Callable[[str], str]
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
def _listening(app: App, show: Listener) -> Iterator[None]:
    def listener(event: Progress) -> None:
        fields = json.dumps(asdict(event), default=str, ensure_ascii=False)
        _log.info("%s %s", type(event).__name__, app.redact(fields))
        show(event)

    app.listener = listener
    try:
        yield
    finally:
        app.listener = silent


def plain_lines(redact: Redact) -> Listener:
    """One line a fact on stderr. A reader of stderr who left must not stop the run."""
    from orchestrator.cli.render.lines import line

    def show(event: Progress) -> None:
        text = line(event)
        if text is None:
            return
        try:
            sys.stderr.write(redact(text) + "\n")
            sys.stderr.flush()
        except (BrokenPipeError, ValueError, RuntimeError):  # closed, or a signal spoke while the main thread wrote
            return

    return show
