"""What the three wires have in common: how a request is written and a reply read, nothing of connections."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agents.chat.call_ids import new_call_id
from agents.chat.failures import MalformedReplyError
from agents.chat.port import ChatRequest, Message
from orchestrator.domain.model_io import ModelReply, ToolCall

WireName = Literal["chat", "responses", "messages"]
Json = Mapping[str, Any]

_MOST_TOKENS = 10**9
"""More than any reply can use: a count beyond it is none, and the graph's integers hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """What a request says beside messages and tools. Fields that stand in `learnt` were refused by the endpoint, and
    are left out or sent otherwise."""

    model: str
    max_output_tokens: int
    temperature: float | None
    effort: str | None
    """How much the model is to reason, in the endpoint's own word."""
    reasoning_tokens: int | None
    """Or with how many tokens."""
    streams: bool
    json_object: bool
    """Whether the reply is to be a JSON object."""
    learnt: frozenset[str] = frozenset()

    def takes(self, name: str) -> bool:
        """Whether the endpoint has not refused the field."""
        return name not in self.learnt


class Wire(Protocol):
    """One API. Pure: from our request to the body that is sent, from what came to our reply."""

    @property
    def name(self) -> WireName:
        """As the settings name it."""

    @property
    def path(self) -> str:
        """Below the endpoint's address."""

    @property
    def reply_name(self) -> str:
        """What a reply is called: `a chat completion`."""

    def body(self, request: ChatRequest, options: RequestOptions) -> dict[str, Any]:
        """The request's body. That of a longer conversation begins with the bytes of a shorter one's."""

    def said(self, reply: ModelReply) -> Message:
        """The reply's message as it is sent back: as it came, but for ids and arguments of calls that were changed."""

    def reply(self, answer: Json) -> ModelReply:
        """The reply in an answer that came whole, `estimated` where it tells no usage. Raises MalformedReplyError, and
        ContextLengthError where the answer says that it has no room."""

    def joined(self, events: Sequence[Json]) -> Json:
        """The events of a stream as the answer that would have come whole, with `error` where one brought an error.
        Raises MalformedReplyError for a stream that breaks off."""

    def ends(self, event: Json) -> bool:
        """Whether nothing follows this event."""

    def text(self, event: Json) -> str:
        """The piece of the reply's text that the event brings, else ""."""


def decode_reply(body: bytes) -> Json:
    """A body as a JSON object. Raises MalformedReplyError."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedReplyError("not JSON" if body.strip() else "an empty body") from None
    if not isinstance(value, dict):
        raise MalformedReplyError(f"a JSON {type(value).__name__}, not an object")
    return value


def token_count(value: Any) -> int | None:
    """A number of tokens as an endpoint tells it; None for what can be none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None


def told_usage(
    *,
    prompt: int | None,
    output: int | None,
    cached: int | None = None,
    cache_write: int | None = None,
    reasoning: int | None = None,
) -> dict[str, Any]:
    """An endpoint's own counts of tokens as a reply's fields; `estimated` where they are missing or cannot be: there is
    no prompt of nothing. Parts are no more than what they are parts of."""
    if not prompt or output is None:
        return {"estimated": True}
    read = min(cached or 0, prompt)
    return {
        "prompt_tokens": prompt,
        "cached_tokens": read,
        "cache_write_tokens": min(cache_write or 0, prompt - read),
        "completion_tokens": output,
        "reasoning_tokens": min(reasoning or 0, output),
    }


def plain_text(content: Any) -> str:
    """A message's content as text: the texts of its parts, where it has parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in objects(content))
    return content if isinstance(content, str) else ""


def objects(value: Any) -> list[Json]:
    """The JSON objects of a list; none of anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def told_calls(asked: Sequence[tuple[Any, Any, Any]]) -> tuple[ToolCall, ...]:
    """Calls of (id, name, arguments) as they came, every one with an id of its own: some servers send none, or the same
    one twice."""
    calls: list[ToolCall] = []
    seen: set[str] = set()
    for given_id, name, arguments in asked:
        call_id = str(given_id or "")
        if not call_id or call_id in seen:
            call_id = new_call_id()
        seen.add(call_id)
        calls.append(ToolCall(call_id=call_id, tool=str(name or ""), arguments_json=_arguments_json(arguments) or "{}"))
    return tuple(calls)


def _arguments_json(arguments: Any) -> str:
    """Arguments as text: some servers send the object itself."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    try:
        return json.dumps(arguments)
    except RecursionError:  # read on a shallower stack than this one
        return "(nested too deep)"
