"""A detector that sees tool names alone, to compare the guards with: agents are shipped with such.

It trips on legitimate work, eight reads in a row among it (measured on real runs).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

SEQUENCE = 5  # so many names in a row make a sequence
WINDOW = 10  # among so many sequences a repeated one is looked for
REPEATS = 3  # times that one may stand there before it counts as a loop


def names_fire_at(names: Iterable[str]) -> int | None:
    """The number of the call, from 1, at which the detector fires; None when it never does."""
    row: deque[str] = deque(maxlen=SEQUENCE)
    sequences: deque[tuple[str, ...]] = deque(maxlen=WINDOW)
    for number, name in enumerate(names, start=1):
        row.append(name)
        if len(row) == SEQUENCE:
            sequences.append(tuple(row))
            if sequences.count(tuple(row)) >= REPEATS:
                return number
    return None
