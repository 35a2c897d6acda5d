"""What turns have used: tokens, US dollars and calls, in one shape for a conversation, an attempt, a task and a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from orchestrator.domain.events import Event, ReplyReceived, ToolFinished
from orchestrator.domain.evolve import evolve
from orchestrator.domain.model_io import ModelReply
from orchestrator.domain.tools import executed

Measure = Literal["elapsed time", "working time", "tokens", "cost"]
"""What is bounded: times in seconds, what is paid for in tokens and US dollars."""


@dataclass(frozen=True, kw_only=True)
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
                return _plus(self, turn_usage(reply))
            case ToolFinished(call=call, status=status) if executed(call, status):
                return evolve(self, tool_call_count=self.tool_call_count + 1)
        return self


NO_USAGE = Usage()


def turn_usage(reply: ModelReply) -> Usage:
    """What one turn used."""
    return evolve(
        NO_USAGE,
        prompt_tokens=reply.prompt_tokens,
        cached_tokens=reply.cached_tokens,
        cache_write_tokens=reply.cache_write_tokens,
        completion_tokens=reply.completion_tokens,
        reasoning_tokens=reply.reasoning_tokens,
        cost_usd=reply.cost_usd,
        turn_count=1,
    )


def total_usage(usages: Iterable[Usage]) -> Usage:
    """The sum. One unknown price makes the sum's unknown."""
    first, *rest = (*usages,) or (NO_USAGE,)
    return reduce(_plus, rest, first)


def _plus(usage: Usage, more: Usage) -> Usage:
    cost, more_cost = usage.cost_usd, more.cost_usd
    return evolve(
        usage,
        prompt_tokens=usage.prompt_tokens + more.prompt_tokens,
        cached_tokens=usage.cached_tokens + more.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens + more.cache_write_tokens,
        completion_tokens=usage.completion_tokens + more.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens + more.reasoning_tokens,
        cost_usd=None if cost is None or more_cost is None else cost + more_cost,
        turn_count=usage.turn_count + more.turn_count,
        tool_call_count=usage.tool_call_count + more.tool_call_count,
        reserved_tokens=usage.reserved_tokens + more.reserved_tokens,
        reserved_usd=usage.reserved_usd + more.reserved_usd,
    )


def amount_of(usage: Usage, measure: Measure) -> float | None:
    """A usage in tokens or US dollars (None: the price is unknown). It takes no time."""
    if measure == "tokens":
        return usage.tokens
    return usage.cost_usd if measure == "cost" else 0.0


def total_amount(usages: Iterable[Usage], measure: Measure) -> float | None:
    """The sum of one measure: what total_usage would say of it, without summing up the others."""
    amounts = [amount_of(usage, measure) for usage in usages]
    return sum(amount for amount in amounts if amount is not None) if None not in amounts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptUsage:
    """What one attempt has used so far, with its reviews and the PM's decisions; `worked_s` is its time without what it
    waited for rate limits. One that is `closed` uses nothing more."""

    attempt_id: str
    task_id: str
    closed: bool
    usage: Usage
    worked_s: float
