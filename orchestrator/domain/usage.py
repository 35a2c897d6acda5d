"""What turns have used: tokens, US dollars and calls, in one shape for a conversation, an attempt, a task and a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.domain.events import Event, ReplyReceived, ToolFinished
from orchestrator.domain.tools import executed


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Sums. An unsettled turn counts with what it reserved; `cost_usd` is None as soon as one turn's price is unknown
    (0 dollars are known). Cached tokens and those written to the cache are of the prompt's, reasoning tokens of the
    completion's. Field names are the graph's property names in snake case."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = 0.0
    turn_count: int = 0
    tool_call_count: int = 0
    """Executed calls."""
    reserved_tokens: int = 0
    """Of the tokens those that unsettled turns reserved, where that was looked up."""
    reserved_usd: float = 0.0
    """Of the dollars likewise."""

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def after(self, event: Event) -> Usage:
        """With one more event of the conversation."""
        match event:
            case ReplyReceived(reply=reply):
                turn = Usage(
                    prompt_tokens=reply.prompt_tokens,
                    cached_tokens=reply.cached_tokens,
                    cache_write_tokens=reply.cache_write_tokens,
                    completion_tokens=reply.completion_tokens,
                    reasoning_tokens=reply.reasoning_tokens,
                    cost_usd=reply.cost_usd,
                    turn_count=1,
                )
                return total_usage((self, turn))
            case ToolFinished(call=call, status=status) if executed(call, status):
                return total_usage((self, Usage(tool_call_count=1)))
        return self


def total_usage(usages: Iterable[Usage]) -> Usage:
    """The sum. One unknown price makes the sum's unknown."""
    held = tuple(usages)
    known = [usage.cost_usd for usage in held if usage.cost_usd is not None]
    return Usage(
        prompt_tokens=sum(usage.prompt_tokens for usage in held),
        cached_tokens=sum(usage.cached_tokens for usage in held),
        cache_write_tokens=sum(usage.cache_write_tokens for usage in held),
        completion_tokens=sum(usage.completion_tokens for usage in held),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in held),
        cost_usd=sum(known) if len(known) == len(held) else None,
        turn_count=sum(usage.turn_count for usage in held),
        tool_call_count=sum(usage.tool_call_count for usage in held),
        reserved_tokens=sum(usage.reserved_tokens for usage in held),
        reserved_usd=sum(usage.reserved_usd for usage in held),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptUsage:
    """What one attempt has used so far, with its reviews and the PM's decisions; `worked_s` is its time without what it
    waited for rate limits. One that is `closed` uses nothing more."""

    attempt_id: str
    task_id: str
    closed: bool
    usage: Usage
    worked_s: float
