"""The chat port: one request, one reply.

Messages of ours and tools are in the form of chat completions; a reply's message is in that of the wire on which it
came, and goes back as it came."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from orchestrator.domain.model_io import ModelReply

Message = Mapping[str, Any]
ToolSchema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One completion request. `tool_choice` is `auto`, `required`, `none` or a tool's name. The last `passing` messages
    are of this request alone: what stands before them begins the next one too, unless the window is compacted."""

    messages: Sequence[Message]
    tools: Sequence[ToolSchema] = ()
    tool_choice: str = "auto"
    passing: int = 0


def to_nobody(_text: str) -> None:
    """Nobody listens."""


class Chat(Protocol):
    """One model at one endpoint."""

    model: str

    @property
    def context_window(self) -> int:
        """Tokens that prompt and reply may hold together."""

    @property
    def max_output_tokens(self) -> int:
        """Tokens of one reply at most."""

    def estimate(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> int:
        """Prompt tokens of a request, estimated on the high side and in time linear in what is new."""

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """US dollars at most, or None when the model's price is unknown."""

    def said(self, reply: ModelReply) -> Message:
        """A reply's message as it stands in later requests: as it came, its calls as they are known here."""

    def complete(
        self,
        request: ChatRequest,
        on_lost: Callable[[str], None] = to_nobody,
        on_text: Callable[[str], None] = to_nobody,
    ) -> ModelReply:
        """Send the request and return the reply, its calls as the model sent them, retrying what the error's type
        allows. A try that the endpoint had accepted may have cost what it could: `on_lost` is told before the next one
        why its reply was lost, and ReplyLostError when there is no next one. Of a streamed reply `on_text` is told the
        text piece by piece, on another thread. Raises ModelRefusedError, ModelUnavailableError, ReplyLostError among
        them, and ContextLengthError of orchestrator.domain.errors."""
