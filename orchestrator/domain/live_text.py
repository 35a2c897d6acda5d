"""The words of a reply while it comes: the one exception to showing only what was recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class LiveText(Protocol):
    """Where the words of a conversation's replies go while they come: the one thing that is shown without having been
    recorded, since a reply is recorded when it is whole. So it is for the eye alone: no log, pipe or document has it,
    nothing depends on it, and with its turn it is gone."""

    def begin(self) -> None:
        """A request goes out."""

    def hear(self, piece: str) -> None:
        """A piece of its reply, told by the thread that reads it: returns at once, whatever the screen does."""

    def end(self) -> None:
        """The turn is over, well or not: nothing of it is shown any more, also not what still comes."""


LiveTexts = Callable[[str], LiveText]
"""Takes the task whose conversation it is, as the events name it."""


class Unwatched:
    """LiveText where nobody watches."""

    def begin(self) -> None:
        """A request goes out."""

    def hear(self, piece: str) -> None:
        """Nothing is done with it."""

    def end(self) -> None:
        """The turn is over."""


def unwatched(_task: str) -> LiveText:
    """Conversations that nobody watches."""
    return Unwatched()
