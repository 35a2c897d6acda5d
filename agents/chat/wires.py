"""Which wire an endpoint is spoken to by."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from agents.chat.completions import Completions
from agents.chat.endpoint import ModelEndpoint
from agents.chat.messages import Messages
from agents.chat.responses import Responses
from agents.chat.sdk import AnthropicSdk, OpenAISdk, Sdk
from agents.chat.wire import Wire, WireName

WIRES: tuple[WireName, ...] = ("chat", "responses", "messages")

_ANTHROPIC = "api.anthropic.com"
_OPENAI = "api.openai.com"
_AZURE = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")
# OpenAI's models that reason, which take function tools over Responses alone, or better; also as a deployment's name.
_REASONING = re.compile(r"(?:^|[/:_-])(?:gpt-(?:[5-9]|\d\d)|o[1-9](?:$|[-.@])|codex)", re.IGNORECASE)
_NOT_REASONING = re.compile(r"gpt-5[\w.-]*-chat|chat-latest", re.IGNORECASE)


def likely_wires(api: str, endpoint: ModelEndpoint) -> tuple[WireName, ...]:
    """The wires to try, the likeliest first: the one that the settings name, else by endpoint and model."""
    named = next((wire for wire in WIRES if wire == api), None)
    if named:
        return (named,)
    host = urlsplit(endpoint.base_url).hostname or ""
    if host == _ANTHROPIC:
        return ("messages", "chat")
    if host == _OPENAI or (host.endswith(_AZURE) and "/v1" in urlsplit(endpoint.base_url).path):
        reasons = _REASONING.search(endpoint.model) and not _NOT_REASONING.search(endpoint.model)
        return ("responses", "chat") if reasons else ("chat", "responses")
    return WIRES


def next_wire(untried: Collection[WireName], named: Collection[str]) -> WireName | None:
    """The one to go on with: what the endpoint itself names, else the likeliest that was not tried."""
    return next((wire for wire in untried if wire in named), next(iter(untried), None))


def open_wire(name: WireName, endpoint: ModelEndpoint) -> tuple[Wire, Sdk]:
    """The wire with the client library that carries it. Raises UserError where that is not installed."""
    if name == "messages":
        return Messages(), AnthropicSdk(endpoint)
    return Responses() if name == "responses" else Completions(), OpenAISdk(endpoint)
