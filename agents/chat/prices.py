"""A dated price table for common models. A price in the settings wins; a model that is not here has no price."""

from __future__ import annotations

import re

from orchestrator.config.settings import PriceSettings
from orchestrator.domain.model_io import ModelReply

AS_OF = "2026-06-30"

# US dollars per million tokens: input, cached input, output. Standard tier, the endpoints' own list prices.
_TABLE: dict[str, tuple[float, float, float]] = {
    "gpt-5.5": (5.00, 0.50, 30.00),
    "gpt-5.4": (2.50, 0.25, 15.00),
    "gpt-5.4-mini": (0.75, 0.075, 4.50),
    "gpt-5.4-nano": (0.20, 0.02, 1.25),
    "gpt-5.2": (1.75, 0.175, 14.00),
    "gpt-5.1": (1.25, 0.125, 10.00),
    "gpt-5": (1.25, 0.125, 10.00),
    "gpt-5-codex": (1.25, 0.125, 10.00),
    "gpt-5-mini": (0.25, 0.025, 2.00),
    "gpt-5-nano": (0.05, 0.005, 0.40),
    "gpt-4.1": (2.00, 0.50, 8.00),
    "gpt-4.1-mini": (0.40, 0.10, 1.60),
    "gpt-4.1-nano": (0.10, 0.025, 0.40),
    "gpt-4o": (2.50, 1.25, 10.00),
    "gpt-4o-mini": (0.15, 0.075, 0.60),
    "o3": (2.00, 0.50, 8.00),
    "o3-mini": (1.10, 0.55, 4.40),
    "o4-mini": (1.10, 0.275, 4.40),
    "claude-opus-4-5": (5.00, 0.50, 25.00),
    "claude-opus-4-1": (15.00, 1.50, 75.00),
    "claude-sonnet-4-5": (3.00, 0.30, 15.00),
    "claude-sonnet-4": (3.00, 0.30, 15.00),
    "claude-haiku-4-5": (1.00, 0.10, 5.00),
    "gemini-2.5-flash": (0.30, 0.03, 2.50),
    "gemini-2.5-flash-lite": (0.10, 0.01, 0.40),
}

# Only a date or "latest" may follow a known name: gpt-5-pro is not a dated gpt-5, and costs twelve times as much.
_DATED = re.compile(r"[-@](\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|\d{2}-\d{4}|\d{2}-\d{2}|latest)")


def price_of(model: str, override: PriceSettings | None = None) -> PriceSettings | None:
    """The model's price per million tokens, or None when it is unknown, which is a state of its own."""
    if override is not None:
        return override
    for name in sorted(_TABLE, key=len, reverse=True):
        rest = model.removeprefix(name)
        if rest != model and (rest == "" or _DATED.fullmatch(rest)):
            prompt, cached, output = _TABLE[name]
            return PriceSettings(input=prompt, cached_input=cached, output=output)
    return None


def cost_usd(price: PriceSettings, reply: ModelReply) -> float:
    """US dollars of one reply. Tokens that the endpoint's cache served or took in are part of the prompt's, and priced
    apart; reasoning is part of the completion's, and is not."""
    cached = min(reply.cached_tokens, reply.prompt_tokens)
    written = min(reply.cache_write_tokens, reply.prompt_tokens - cached)
    prompt = (reply.prompt_tokens - cached - written) * price.input
    served, kept = cached * _or_input(price.cached_input, price), written * _or_input(price.cache_write, price)
    return (prompt + served + kept + reply.completion_tokens * price.output) / 1_000_000


def most_cost_usd(price: PriceSettings, prompt_tokens: int, completion_tokens: int) -> float:
    """What a request may cost, whatever the endpoint's cache holds."""
    dearest = max(price.input, _or_input(price.cached_input, price), _or_input(price.cache_write, price))
    return (prompt_tokens * dearest + completion_tokens * price.output) / 1_000_000


def _or_input(special: float | None, price: PriceSettings) -> float:
    return price.input if special is None else special
