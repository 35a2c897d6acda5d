"""Which state of the workspace a call left, as far as events tell."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.events import ToolFinished


@dataclass(frozen=True, slots=True)
class TreeState:
    """`id` is the git tree's, "" for the one that the attempt began with. No event names that one: it is the first tree
    that is seen after a call that wrote nothing (`start`; "" when a write came first, so that it is not known)."""

    id: str = ""
    start: str | None = None

    def after(self, event: ToolFinished) -> TreeState:
        """The tree after a finished call."""
        seen = event.tree_after
        if seen is None or seen == self.id:
            return self
        if self.start is None:
            return TreeState(seen, "") if event.writes else TreeState("", seen)
        if seen == self.start:
            return self if self.id == "" else TreeState("", self.start)
        return TreeState(seen, self.start)
