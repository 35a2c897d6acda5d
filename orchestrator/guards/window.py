"""Window: compactions that gain no headroom."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator.domain.events import Compacted, Event, TurnRequested
from orchestrator.domain.verdict import ALLOW, Verdict, Warn
from orchestrator.guards.guard import stop
from orchestrator.guards.limits import GuardLimits

NAME = "window"
CODE = "context_exhausted"


@dataclass(frozen=True, slots=True)
class Window:
    """`tokens` is the last request's window. A compaction gains headroom when the window after it is smaller."""

    limits: GuardLimits
    tokens: int | None = None
    in_vain: int = 0

    def observe(self, event: Event) -> tuple[Window, Verdict]:
        """Compare the window after a compaction with the one before."""
        if isinstance(event, TurnRequested):
            return replace(self, tokens=event.window_tokens), ALLOW
        if not isinstance(event, Compacted) or self.tokens is None:
            return self, ALLOW
        if event.window_tokens < self.tokens:
            return replace(self, in_vain=0), ALLOW
        return replace(self, in_vain=self.in_vain + 1)._judge(event)

    def _judge(self, event: Compacted) -> tuple[Window, Verdict]:
        most, evidence = self.limits.compactions_without_headroom, {"window tokens": event.window_tokens}
        if self.in_vain >= most:
            return self, stop(NAME, CODE, self.in_vain, most, evidence)
        if self.in_vain < most - 1:
            return self, ALLOW
        message = (
            f"The conversation is near its limit and compacting it no longer helps ({self.in_vain} of {most}). "
            "Finish now: ask for less output, and call finish_task."
        )
        return self, Warn(NAME, CODE, message, self.in_vain, most, evidence)
