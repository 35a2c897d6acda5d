"""What a model costs and holds, by the list and by the settings."""

from __future__ import annotations

import socket
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from agents.chat.endpoint import model_endpoint
from agents.chat.prices import PriceList, cost_usd, most_cost_usd
from orchestrator.config.settings import ModelSettings, PriceSettings
from orchestrator.domain.model_io import ModelReply

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)
OPENAI, LOCAL = "https://api.openai.com/v1", "http://127.0.0.1:11434/v1"


def listed(model: str, url: str = OPENAI, override: PriceSettings | None = None) -> PriceList:
    """The model's prices at an address."""
    endpoint = model_endpoint(
        ModelSettings(name=model, base_url=url), {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    )
    return PriceList(endpoint, override)


def reply(**tokens: int) -> ModelReply:
    """A reply with that usage."""
    return ModelReply(text="", finish_reason="stop", model="m", **tokens)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "url", "input_price"),
    [
        ("gpt-4o", OPENAI, 2.5),
        ("gpt-4o-2024-08-06", OPENAI, 2.5),
        ("gpt-4o-mini-2024-07-18", OPENAI, 0.15),
        ("gpt-5-pro", OPENAI, 15.0),
        ("claude-sonnet-4-5-20250929", "https://api.anthropic.com", 3.0),
        ("anthropic/claude-sonnet-4.5", "https://openrouter.ai/api/v1", 3.0),
        ("gpt-5.4", "https://mine.openai.azure.com/openai/v1", 2.5),
        ("gemini-2.5-flash", "https://generativelanguage.googleapis.com/v1beta/openai", 0.3),
        pytest.param("gpt-4o", LOCAL, 2.5, id="a proxy of one's own serves the model itself"),
        pytest.param("claude-haiku-4-5", LOCAL, 1.0, id="and so another vendor's"),
        pytest.param("deepseek-r1", LOCAL, None, id="open weights at home have no list price"),
        pytest.param("gpt-oss-20b", LOCAL, None, id="nor have OpenAI's"),
        pytest.param("my-deployment", "https://mine.openai.azure.com/openai/v1", None, id="a name that is none"),
        ("gpt-4oh", OPENAI, None),
        ("my-own-model", LOCAL, None),
        ("text-embedding-3-small", OPENAI, None),
        pytest.param("qwen/qwen3-coder:free", "https://openrouter.ai/api/v1", None, id="listed without a price"),
    ],
)
def test_a_price_is_the_providers_whose_address_it_is_else_the_names(
    model: str, url: str, input_price: float | None
) -> None:
    """A model that neither address nor name tells has no price, which is a state of its own."""
    tariff = listed(model, url).tariff(NOW)
    assert (None if tariff is None else tariff.base.input) == input_price


def test_a_price_of_the_settings_wins() -> None:
    """The list is only a default."""
    mine = PriceSettings(input=1, output=2)
    for model in ("gpt-4o", "my-own-model"):
        tariff = listed(model, override=mine).tariff(NOW)
        assert tariff is not None and tariff.of(10**6) == mine


def test_cache_reads_and_writes_are_priced_apart() -> None:
    """A million tokens each: read from the cache, taken into it, neither, and written by the model."""
    tariff = listed("claude-haiku-4-5", "https://api.anthropic.com").tariff(NOW)
    assert tariff is not None
    usage = {"prompt_tokens": 3_000_000, "cached_tokens": 1_000_000, "cache_write_tokens": 1_000_000}
    assert cost_usd(tariff, reply(**usage, completion_tokens=1_000_000)) == pytest.approx(0.10 + 1.25 + 1.0 + 5.0)
    assert most_cost_usd(tariff, 1_000_000, 0) == pytest.approx(1.25)


def test_a_long_prompt_has_the_price_of_long_prompts() -> None:
    """Beyond the list's bound all of its tokens cost more, and the reply's too."""
    tariff = listed("gpt-5.4").tariff(NOW)
    assert tariff is not None
    short, long = (most_cost_usd(tariff, tokens, 0) / tokens for tokens in (272_000, 272_001))
    assert long == pytest.approx(2 * short)
    assert most_cost_usd(tariff, 300_000, 1000) - most_cost_usd(tariff, 300_000, 0) > 1000 * tariff.base.output / 1e6


def test_a_price_is_that_of_its_day() -> None:
    """What became cheaper on a day costs the old price before it."""
    before, after = (listed("o3").tariff(datetime(2025, month, 1, tzinfo=UTC)) for month in (5, 7))
    assert before is not None and after is not None and before.base.input > after.base.input


def test_the_context_window_is_known_where_the_list_has_it() -> None:
    """And None elsewhere."""
    assert listed("gpt-4o").context_window == 128_000
    assert listed("my-own-model", LOCAL).context_window is None


def test_the_list_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection is opened for a price."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert listed("gpt-4o").tariff(NOW) is not None


def test_no_command_loads_the_list_before_a_chat_needs_it() -> None:
    """`status` and the like start without it."""
    code = (
        "import sys, orchestrator.cli, orchestrator.app, agents.chat.model_chat; print('genai_prices' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
