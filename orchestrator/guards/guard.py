"""What a guard is: a frozen value that folds events and says what it thinks of each."""

from __future__ import annotations

from typing import Protocol, Self

from orchestrator.domain.events import Event
from orchestrator.domain.model_io import ToolCall
from orchestrator.domain.tools import FINISHING_NAMES
from orchestrator.domain.verdict import Verdict


class Guard(Protocol):
    """No I/O, no clock: time is the event's `at`. The same event observed from the same value has the same answer."""

    def observe(self, event: Event) -> tuple[Self, Verdict]:
        """The guard after the event, and its verdict over it."""


def finishing(call: ToolCall) -> bool:
    """Whether the call is one of those left when tools are withheld."""
    return call.tool in FINISHING_NAMES
