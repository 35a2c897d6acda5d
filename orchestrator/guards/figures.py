"""Figures: the same call over and over, whose outcomes differ in nothing but figures and the order of lines."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from orchestrator.domain.events import Event, ToolFinished
from orchestrator.domain.evolve import evolve
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Evidence, Verdict
from orchestrator.guards.cycle import Cycle
from orchestrator.guards.guard import called
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.tree import TreeState

_RULE = Rule("figures", "loop_detected")


@dataclass(frozen=True)
class FiguresGuard:
    """Calls with the shape of their outcome (digits and hexadecimal words blanked, lines sorted) over one tree: clocks,
    process lists, memory figures and random ids no longer hide a loop. A shape says less than an outcome, so it takes
    more of them than the repetition guard asks for. A counter that moves is such a figure too: whoever waits for one is
    told to wait within one call instead. `told`: the cause that was warned about last."""

    limits: GuardLimits
    shapes: Cycle
    tree: TreeState = field(default_factory=TreeState)
    told: Hashable = None

    @classmethod
    def begin(cls, limits: GuardLimits) -> FiguresGuard:
        """Before the first call."""
        return cls(limits, Cycle(limits.cycle_longest))

    def observe(self, event: Event) -> tuple[FiguresGuard, Verdict]:
        """Add a finished call; infrastructure errors never count, nor does what tells no shape."""
        if not isinstance(event, ToolFinished):
            return self, ALLOW
        if event.result.error_kind == "infrastructure" or not event.result.shape_hash:
            return self, ALLOW
        tree = self.tree.after(event)
        shapes = self.shapes.add((event.call.signature, event.result.shape_hash, tree.id))
        return evolve(self, shapes=shapes, tree=tree)._judge(event)

    def _judge(self, event: ToolFinished) -> tuple[FiguresGuard, Verdict]:
        count, limits = self.shapes.in_a_row, self.limits
        if count >= limits.figures_stop:
            return self, _RULE.stop(count, limits.figures_stop, called(event.call))
        period = self.shapes.completed(limits.figures_rounds)
        if period is not None:
            evidence: Evidence = {**called(event.call), "period": period}
            return self, _RULE.stop(limits.figures_rounds, limits.figures_rounds, evidence)
        cause = self.shapes.recent[-1]
        if count != limits.figures_warn or cause == self.told:
            return self, ALLOW
        message = (
            f"You have made the same call {count} times in a row; but for figures the results were the same, and no "
            f"file has changed; at {limits.figures_stop} the attempt is stopped. If you wait for something, wait "
            "within one call (a loop with sleep in one command); else use what you know."
        )
        return evolve(self, told=cause), _RULE.warn(message, count, limits.figures_stop, called(event.call))
