"""How often a sequence has just repeated itself, for every period at once, in constant time an item."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from orchestrator.domain.evolve import evolve


@dataclass(frozen=True)
class Cycle:
    """The last `longest` items (newest last) and, for each period p from 1, how many items in a row equal the one p
    places before them."""

    longest: int
    recent: tuple[Hashable, ...] = ()
    matches: tuple[int, ...] = ()

    def add(self, item: Hashable) -> Cycle:
        """The sequence with one more item."""
        if item in self.recent:
            pairs = zip(self.matches, reversed(self.recent), strict=False)
            matches = (*(old + 1 if item == earlier else 0 for old, earlier in pairs), 0)[: self.longest]
        else:
            matches = (0,) * min(len(self.matches) + 1, self.longest)
        recent = (*self.recent[-self.longest + 1 :], item) if self.longest > 1 else (item,)
        return evolve(self, recent=recent, matches=matches)

    @property
    def in_a_row(self) -> int:
        """How many times the newest item stands at the end without another between."""
        return self.matches[0] + 1 if self.matches else 0

    def completed(self, rounds: int) -> int | None:
        """The smallest period of at least 2 whose `rounds`-th full round ends or has ended with the newest item. One
        item repeated is no cycle."""
        if not any(self.matches):
            return None
        for period in range(2, len(self.matches) + 1):
            if self.matches[period - 1] >= period * (rounds - 1) and self.in_a_row < period:
                return period
        return None
