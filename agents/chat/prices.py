"""What a model costs and holds: by the settings, else by the list that genai-prices ships. That list is part of the
installed package and never fetched: it is as new as the package."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agents.chat.endpoint import ModelEndpoint
from orchestrator.config.settings import PriceSettings
from orchestrator.domain.model_io import ModelReply

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

# Who serves these names behind an address that the list does not know, a proxy say, serves the model itself. Names of
# open weights are not among them: who runs those on an own machine pays nobody's list price.
_OWN_NAMES = re.compile(r"(?:gpt-\d|chatgpt-|codex-|o[134](?:$|-)|claude-|gemini-)")


@dataclass(frozen=True, slots=True)
class Tariff:
    """Prices by the length of the prompt: `above` are those for prompts of more than so many tokens, ascending; they
    then hold for all of its tokens, and for the reply's."""

    base: PriceSettings
    above: tuple[tuple[int, PriceSettings], ...] = ()

    def of(self, prompt_tokens: int) -> PriceSettings:
        """The prices for a prompt of that length."""
        return next((price for start, price in reversed(self.above) if prompt_tokens > start), self.base)


class PriceList:
    """One model's prices and context window at one endpoint; settings win over the list."""

    def __init__(self, endpoint: ModelEndpoint, override: PriceSettings | None = None) -> None:
        self._override = override
        self._listed, self.by_address = _listed(endpoint)

    @property
    def context_window(self) -> int | None:
        """Tokens, or None where the list does not say."""
        return self._listed.context_window if self._listed else None

    def tariff(self, now: datetime) -> Tariff | None:
        """The prices at that time: some change on a day, some by the hour. None when they are unknown, which is a state
        of its own."""
        if self._override is not None:
            return Tariff(self._override)
        return _tariff(self._listed.get_prices(now)) if self._listed and self._listed.prices else None


def _listed(endpoint: ModelEndpoint) -> tuple[ModelInfo | None, bool]:
    """The list's entry, and whether it is of the provider whose address it is; else it is by the name alone."""
    from genai_prices.data_snapshot import get_snapshot  # 80 ms of data, which only a chat needs

    known = get_snapshot()
    for by_address in (True, False):
        if not by_address and not _OWN_NAMES.match(endpoint.model):
            break
        url = endpoint.base_url if by_address else None
        with suppress(LookupError):
            return known.find_provider_model(endpoint.model, None, None, url)[1], by_address
    return None, False


_FIELDS = {
    "input": "input_mtok",
    "cached_input": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "output": "output_mtok",
}


def _tariff(listed: Any) -> Tariff | None:
    """The list's prices for text; a model that it gives none for, or only half of them, has no price."""
    told = {field: getattr(listed, name) for field, name in _FIELDS.items() if getattr(listed, name) is not None}
    if not {"input", "output"} <= told.keys():
        return None
    starts = sorted({tier.start for price in told.values() for tier in getattr(price, "tiers", ())})
    return Tariff(_prices(told, 0), tuple((start, _prices(told, start + 1)) for start in starts))


def _prices(told: dict[str, Any], prompt_tokens: int) -> PriceSettings:
    return PriceSettings(**{field: float(_at(price, prompt_tokens)) for field, price in told.items()})


def _at(price: Any, prompt_tokens: int) -> Any:
    tiers: Sequence[Any] = getattr(price, "tiers", ())
    return next((tier.price for tier in reversed(tiers) if prompt_tokens > tier.start), getattr(price, "base", price))


def cost_usd(tariff: Tariff, reply: ModelReply) -> float:
    """US dollars of one reply. Tokens that the endpoint's cache served or took in are part of the prompt's, and priced
    apart; reasoning is part of the completion's, and is not."""
    price = tariff.of(reply.prompt_tokens)
    cached = min(reply.cached_tokens, reply.prompt_tokens)
    written = min(reply.cache_write_tokens, reply.prompt_tokens - cached)
    prompt = (reply.prompt_tokens - cached - written) * price.input
    served, kept = cached * _or_input(price.cached_input, price), written * _or_input(price.cache_write, price)
    return (prompt + served + kept + reply.completion_tokens * price.output) / 1_000_000


def most_cost_usd(tariff: Tariff, prompt_tokens: int, completion_tokens: int) -> float:
    """What a request may cost, whatever the endpoint's cache holds."""
    price = tariff.of(prompt_tokens)
    dearest = max(price.input, _or_input(price.cached_input, price), _or_input(price.cache_write, price))
    return (prompt_tokens * dearest + completion_tokens * price.output) / 1_000_000


def _or_input(special: float | None, price: PriceSettings) -> float:
    return price.input if special is None else special
