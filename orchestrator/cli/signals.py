"""Ctrl-C and SIGTERM while a run is worked for: softly at first, at once the second time."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from orchestrator.cli.invocation import INTERRUPTED
from orchestrator.domain.progress import Waiting

if TYPE_CHECKING:
    from orchestrator.app import App, Interrupts


def signals_of(app: App) -> Interrupts:
    """What App.execute_plan takes: the first signal finishes the call under way and releases the tasks, which the
    application's listener is told; the second ends the process."""

    @contextmanager
    def signals(interrupt: Callable[[], None]) -> Iterator[None]:
        asked = threading.Event()

        def on_signal(_number: int, _frame: FrameType | None) -> None:
            if asked.is_set():
                os._exit(INTERRUPTED)  # now: leases expire or are seen to be dead, the next process takes over
            asked.set()
            said = "Interrupted: finishing the call under way; once more to stop at once."
            app.listener(Waiting(at=app.clock.now(), message=said))
            interrupt()

        previous = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    return signals
