"""Names only: what a detector that sees tool names alone would say; recorded for tuning, never stops.

It trips on legitimate work, eight reads in a row among it (measured on real runs).
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.events import Event, ToolFinished
from orchestrator.domain.verdict import ALLOW, Verdict, Warn
from orchestrator.guards.limits import GuardLimits

_NAME = "names_only"


@dataclass(frozen=True, slots=True)
class NamesGuard:
    """The last names, and the last sequences of them; `told` are those already recorded."""

    limits: GuardLimits
    names: tuple[str, ...] = ()
    sequences: tuple[tuple[str, ...], ...] = ()
    told: tuple[tuple[str, ...], ...] = ()

    def observe(self, event: Event) -> tuple[NamesGuard, Verdict]:
        """Add a finished call's name."""
        if not isinstance(event, ToolFinished):
            return self, ALLOW
        limits = self.limits
        names = (*self.names, event.call.tool)[-limits.name_sequence :]
        if len(names) < limits.name_sequence:
            return NamesGuard(limits, names, self.sequences, self.told), ALLOW
        sequences = (*self.sequences, names)[-limits.name_window :]
        count = sequences.count(names)
        if count < limits.name_repeats or names in self.told:
            return NamesGuard(limits, names, sequences, self.told), ALLOW
        told = (*self.told, names)[-limits.name_window :]
        return NamesGuard(limits, names, sequences, told), self._warn(names, count)

    def _warn(self, names: tuple[str, ...], count: int) -> Warn:
        message = f"The same {len(names)} tools in the same order came {count} times; go on if each call brings news."
        return Warn(_NAME, _NAME, message, count, self.limits.name_repeats, {"tools": list(names)}, quiet=True)
