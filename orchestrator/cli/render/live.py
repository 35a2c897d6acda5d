"""The live display on a terminal: the board, redrawn in place on stderr."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from orchestrator.cli.progress import IN_PLACE, Teller
from orchestrator.cli.render.board import Board
from orchestrator.cli.render.screen import console
from orchestrator.domain import progress as p


class LiveScreen:
    """A listener that redraws the board; what is worth keeping scrolls by above it, in the words of `tell`."""

    def __init__(self, redact: Callable[[str], str], tell: Teller) -> None:
        self._redact, self._tell = redact, tell
        self._board = Board(redact)
        self._lock = threading.RLock()  # a signal may report while the main thread does
        self._console = console(stderr=True)
        self._live = Live(
            get_renderable=self._view,
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
            self._board.apply(event)
        text = None if isinstance(event, IN_PLACE) else self._tell(event)
        if text is not None:
            self._console.print(Text(self._redact(text)))

    def _view(self) -> RenderableType:
        with self._lock:
            return self._board.view(self._console.height - 1)
