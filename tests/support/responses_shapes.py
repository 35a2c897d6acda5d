"""Responses and their streams in the shapes of the openai package's types (openai.types.responses), written by us."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

REASONING = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAAB", "x-own": {"a": [1]}}
SAID = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "phase": "commentary",
    "content": [{"type": "output_text", "text": "I look.", "annotations": [], "logprobs": []}],
}
CALL = {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}", "status": "completed"}
SEARCH = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}
USAGE = {
    "input_tokens": 70,
    "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 20},
    "output_tokens": 30,
    "output_tokens_details": {"reasoning_tokens": 10},
    "total_tokens": 100,
}


def response(*output: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A response with this output."""
    told = {"id": "resp_1", "object": "response", "model": "m", "status": "completed", "error": None}
    return {**told, "incomplete_details": None, "output": list(output), "usage": USAGE, **fields}


def stream(*told: Mapping[str, Any] | str) -> bytes:
    """Server-sent events, named as OpenAI names them."""
    events = (
        event if isinstance(event, str) else f"event: {event['type']}\ndata: {json.dumps(event)}" for event in told
    )
    return "".join(f"{event}\n\n" for event in events).encode()


def item_done(item: Mapping[str, Any]) -> dict[str, Any]:
    """The event that brings a whole item."""
    return {"type": "response.output_item.done", "item": item}


def ended(whole: Mapping[str, Any]) -> dict[str, Any]:
    """The event that brings the whole response."""
    return {"type": f"response.{whole['status']}", "response": whole}


WHOLE = response(REASONING, SAID, CALL)
DELTAS: list[dict[str, Any]] = [
    {"type": "response.created", "response": response(status="in_progress")},
    {"type": "response.output_text.delta", "delta": "I look."},
    *map(item_done, WHOLE["output"]),
]
