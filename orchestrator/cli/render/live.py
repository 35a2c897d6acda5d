"""The live display on a terminal: the board, redrawn in place on stderr."""

from __future__ import annotations

import threading

from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from orchestrator.cli.live_text import LiveReplies
from orchestrator.cli.progress import IN_PLACE, Teller
from orchestrator.cli.render.board import Board
from orchestrator.cli.render.screen import console
from orchestrator.config.secrets import Redactor
from orchestrator.domain import progress as p


class LiveScreen:
    """A listener that redraws the board; what is worth keeping scrolls by above it, in the words of `tell`. What
    `replies` hears shows until its turn is over."""

    def __init__(self, redact: Redactor, tell: Teller) -> None:
        self._redact, self._tell = redact, tell
        self.replies = LiveReplies(redact)
        self._board = Board(redact, newest=self.replies.newest)
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
