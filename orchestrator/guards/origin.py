"""Where what a guard stopped began."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain.events import Event
from orchestrator.guards.guard_set import GuardSet, replay


def origin(begun: GuardSet, events: Sequence[Event]) -> int | None:
    """The seq of the latest fact from which on these events alone lead to the Stop that they end with: the first of the
    repeated calls, the first write to the file, the first call of the budget. None where they lead to none: what was
    seen began in an earlier attempt, or a bound of task or run was reached. Folds the events about as often as their
    number has binary digits."""
    stop = replay(begun, events).stopped
    if stop is None:
        return None
    first, beyond = 0, len(events)
    while beyond - first > 1:
        middle = (first + beyond) // 2
        again = replay(begun, events[middle:]).stopped
        first, beyond = (middle, beyond) if again is not None and again.code == stop.code else (first, middle)
    return next((seq for event in events[first:] if (seq := getattr(event, "seq", None)) is not None), None)
