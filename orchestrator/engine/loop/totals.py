"""What one conversation has used, summed from its own events."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator.domain.attempt import AttemptTotals
from orchestrator.domain.events import ReplyReceived, ToolFinished


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a conversation; `cost_usd` becomes None with the first turn of unknown price."""

    calls: int = 0
    turns: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    duration_ms: float = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def add_reply(self, reply: ReplyReceived) -> Totals:
        """One more turn."""
        known = self.cost_usd is not None and reply.cost_usd is not None
        return replace(
            self,
            turns=self.turns + 1,
            prompt_tokens=self.prompt_tokens + reply.prompt_tokens,
            cached_tokens=self.cached_tokens + reply.cached_tokens,
            completion_tokens=self.completion_tokens + reply.completion_tokens,
            cost_usd=(self.cost_usd or 0.0) + (reply.cost_usd or 0.0) if known else None,
        )

    def add_call(self, call: ToolFinished) -> Totals:
        """One more call, if it was executed: control tools, refused, malformed and served ones were not."""
        executed = call.status in ("ok", "error") and not call.call.control and call.call.defect is None
        return replace(self, calls=self.calls + 1) if executed else self

    def plus(self, other: Totals) -> Totals:
        """Both together."""
        known = self.cost_usd is not None and other.cost_usd is not None
        return Totals(
            calls=self.calls + other.calls,
            turns=self.turns + other.turns,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            duration_ms=self.duration_ms + other.duration_ms,
        )

    def of_attempt(self, *, files_changed: int = 0, lines_changed: int = 0) -> AttemptTotals:
        """As the graph stores them."""
        return AttemptTotals(
            tool_call_count=self.calls,
            turn_count=self.turns,
            prompt_tokens=self.prompt_tokens,
            cached_tokens=self.cached_tokens,
            completion_tokens=self.completion_tokens,
            cost_usd=self.cost_usd,
            files_changed=files_changed,
            lines_changed=lines_changed,
        )
