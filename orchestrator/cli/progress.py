"""Which listener shows a run: live on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.domain.progress import Listener, Progress


@contextmanager
def shown_progress() -> Iterator[Listener]:
    """A listener for stderr, for as long as the block runs."""
    if sys.stderr.isatty():
        from orchestrator.cli.render.live import LiveScreen

        with LiveScreen() as screen:
            yield screen
    else:
        yield plain_lines


def plain_lines(event: Progress) -> None:
    """One line a fact on stderr. A reader of stderr who left must not stop the run."""
    from orchestrator.cli.render.lines import line

    text = line(event)
    if text is None:
        return
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (BrokenPipeError, ValueError, RuntimeError):  # closed, or a signal spoke while the main thread wrote
        return
