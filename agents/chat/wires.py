"""Which wire an endpoint is spoken to by."""

from __future__ import annotations

from typing import get_args

from agents.chat.completions import Completions
from agents.chat.endpoint import ModelEndpoint
from agents.chat.messages import Messages
from agents.chat.responses import Responses
from agents.chat.sdk import AnthropicSdk, OpenAISdk, Sdk
from agents.chat.wire import Wire, WireName


def likely_wires(api: str, endpoint: ModelEndpoint) -> tuple[WireName, ...]:
    """The wires to try, the likeliest first: the one that the settings name, else by endpoint and model."""
    named: tuple[WireName, ...] = get_args(WireName)
    return tuple(name for name in named if name == api) or ("chat",)


def open_wire(name: WireName, endpoint: ModelEndpoint) -> tuple[Wire, Sdk]:
    """The wire with the client library that carries it. Raises UserError where that is not installed."""
    if name == "messages":
        return Messages(), AnthropicSdk(endpoint)
    return Responses() if name == "responses" else Completions(), OpenAISdk(endpoint)
