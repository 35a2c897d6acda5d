"""The chat port: one completion request, one reply. Messages and tools are in the OpenAI chat completions wire form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Message = Mapping[str, Any]
ToolSchema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RawToolCall:
    """A tool call as the model sent it; `arguments` is its JSON text, which may be broken."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One completion request. `tool_choice` is `auto`, `required`, `none` or a tool's name."""

    messages: Sequence[Message]
    tools: Sequence[ToolSchema] = ()
    tool_choice: str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """One completion. Tokens are the endpoint's usage, or estimates when `estimated`. `latency_ms` is the whole call
    with its retries and waits, of which `wait_ms` went to rate limits and backoff. `cost_usd` None: unknown price."""

    text: str
    tool_calls: tuple[RawToolCall, ...]
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    estimated: bool
    cost_usd: float | None
    latency_ms: float
    wait_ms: float
    retries: int
    finish_reason: str
    model: str


class Chat(Protocol):
    """One model at one endpoint."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def context_window(self) -> int:
        """Tokens that prompt and reply may hold together."""

    @property
    def max_output_tokens(self) -> int:
        """Tokens of one reply at most."""

    def estimate(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> int:
        """Prompt tokens of a request, estimated on the high side and in time linear in what is new."""

    def price(self, prompt_tokens: int, cached_tokens: int, completion_tokens: int) -> float | None:
        """US dollars, or None when the model's price is unknown."""

    def complete(self, request: ChatRequest) -> ChatReply:
        """Send the request and return the reply, retrying what the error's type allows. Raises ModelRefusedError,
        ModelUnavailableError and ContextLengthError of orchestrator.domain.errors."""
