"""What a guard is: a frozen value that folds events and says what it thinks of each, with small bounded memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, Self, TypeVar

from orchestrator.domain.events import Event
from orchestrator.domain.model_io import ToolCall
from orchestrator.domain.tools import FINISHING_NAMES
from orchestrator.domain.verdict import Evidence, Verdict

K = TypeVar("K")
V = TypeVar("V")


class Guard(Protocol):
    """No I/O, no clock: time is the event's `at`. The same event observed from the same value has the same answer."""

    def observe(self, event: Event) -> tuple[Self, Verdict]:
        """The guard after the event, and its verdict over it."""


def finishing(call: ToolCall) -> bool:
    """Whether the call is one of those left when tools are withheld."""
    return call.tool in FINISHING_NAMES


def crossed(used: int, limit: int, shares: Sequence[float]) -> int:
    """How many of the warning shares of a limit are reached."""
    return sum(used + 1e-9 >= share * limit for share in shares)


def told_call(call: ToolCall) -> str:
    """A call in one line, the same live and rebuilt from the graph."""
    line = " ".join(f"{call.tool} {call.arguments_json[: 4 * _LINE]}".split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"


def called(call: ToolCall) -> Evidence:
    """The evidence of a call."""
    return {"tool": call.tool, "call": told_call(call)}


CUT = "replies cut off at max_output_tokens"
"""What the evidence names where replies ended at their greatest length: then that is what to raise."""


def cuts_seen(cut: int) -> Evidence:
    """The evidence of so many replies that ended at their greatest length; none where none did."""
    return {CUT: cut} if cut else {}


_LINE = 160
MOST = 256
"""Entries that a memory keeps, so that a step costs the same at call 10 and at call 10,000. What is older is forgotten,
which makes a guard milder, never stricter."""


def remember(memory: Mapping[K, V], key: K, value: V, most: int = MOST) -> Mapping[K, V]:
    """A copy of `memory` in which `key` is the newest entry; the oldest goes when there are more than `most`."""
    copy = dict(memory)
    copy.pop(key, None)
    copy[key] = value
    if len(copy) > most:
        del copy[next(iter(copy))]
    return copy


def forget(memory: Mapping[K, V], key: K) -> Mapping[K, V]:
    """`memory` without `key`; itself when the key is not in it."""
    return {k: v for k, v in memory.items() if k != key} if key in memory else memory
