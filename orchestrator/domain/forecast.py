"""What the next turns of a conversation are going to use."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.evolve import evolve


@dataclass(frozen=True)
class Forecast:
    """One figure (tokens or US dollars) of a conversation: what the last settled turn `used`, what the last turn
    `reserved`, and the largest `step` from one turn's reservation to the next one's. Requests grow with every result,
    so the next turns are expected to grow by as much again."""

    used: float = 0.0
    reserved: float = 0.0
    step: float = 0.0

    def requested(self, reserved: float) -> Forecast:
        """After a turn was requested that may use so much."""
        step = max(self.step, reserved - self.reserved) if self.reserved else 0.0
        return evolve(self, reserved=reserved, step=step)

    def settled(self, used: float) -> Forecast:
        """After that turn's reply."""
        return evolve(self, used=used)

    @property
    def two_turns(self) -> float:
        """What a turn is going to use, and the one after it to reserve: where that does not fit, the turn is the last.
        0 before the first turn, of which nothing is known."""
        return self.used + self.reserved + 3 * self.step
