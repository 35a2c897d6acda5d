"""A scripted completion as the server-sent events of a stream, in the pieces in which endpoints send them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def event_stream(completion: Mapping[str, Any], *, usage: bool) -> bytes:
    """The whole stream as HTTP chunks, an event a chunk; `usage` is the last event's, where it was asked for and the
    completion has one."""
    events = [*_chunks(completion, usage=usage), "[DONE]"]
    written = (f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode() for event in events)
    return b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in written) + b"0\r\n\r\n"


def _chunks(completion: Mapping[str, Any], *, usage: bool) -> Iterator[Mapping[str, Any]]:
    around = {name: completion[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    for choice in completion["choices"]:
        for delta in _deltas(choice["message"]):
            yield {**around, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield {**around, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if usage and "usage" in completion:
        yield {**around, "choices": [], "usage": completion["usage"]}


def _deltas(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The role, then text and arguments in halves, a call's id and name ahead of its arguments."""
    yield {"role": message["role"], "content": None}
    for half in _halves(message["content"] or ""):
        yield {"content": half}
    for index, call in enumerate(message.get("tool_calls", ())):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call["id"], "type": call["type"], "function": function}]}
        for half in _halves(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": half}}]}


def _halves(text: str) -> Iterator[str]:
    middle = len(text) // 2
    yield from filter(None, (text[:middle], text[middle:]))
