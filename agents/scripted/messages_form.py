"""Anthropic's Messages, as the scripted model speaks them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from agents.chat.wire import Json
from agents.scripted.form import (
    AskedReply,
    BadRequestError,
    ScriptedTokens,
    ScriptedTurn,
    StreamEvent,
    first_text,
    halves,
    joined_parts,
    listed_objects,
)
from agents.scripted.messages_rules import CheckedTurns, check_request
from agents.scripted.script import ApiName
from agents.scripted.signatures import sealed

MOST_MARKS = 4
"""Cache marks that one request may have."""

_STOPPED = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "pause": "pause_turn",
    "content_filter": "refusal",
}


class MessagesForm:
    """POST /v1/messages (ScriptedForm)."""

    api: ApiName = "messages"
    path = "/messages"

    def asked(self, body: Json) -> AskedReply:
        """The prompt in the order in which the cache has it: tools, system, messages, block by block."""
        check_request(body)
        turns = CheckedTurns(listed_objects(body.get("messages"), "messages: Input should be a valid list"))
        if (body.get("thinking") or {}).get("type") == "enabled":
            turns.check_budgeted()
        tools = listed_objects(body.get("tools") or [], "tools: Input should be a valid list")
        told = body.get("system") or []
        told = [{"type": "text", "text": told}] if isinstance(told, str) else told
        system = listed_objects(told, "system: Input should be a valid list")
        items, marks = _unmarked(
            [*(("tools", tool) for tool in tools), *(("system", block) for block in system), *turns.blocks]
        )
        return AskedReply(
            model=str(body.get("model") or "scripted"),
            system=joined_parts(system),
            assignment=first_text(body["messages"], "user"),
            tools=frozenset(str(tool.get("name")) for tool in tools),
            items=items,
            marks=marks,
            streamed=body.get("stream") is True,
        )

    def whole(self, turn: ScriptedTurn) -> dict[str, Any]:
        """A message of blocks: thinking with its signature, text, calls."""
        finish = turn.reply.finish_reason or ("tool_calls" if turn.calls else "stop")
        message: dict[str, Any] = {
            "id": f"msg_{turn.number}",
            "type": "message",
            "role": "assistant",
            "model": turn.model,
            "content": [*_blocks(turn)],
            "stop_reason": _STOPPED.get(finish, finish),
            "stop_sequence": None,
        }
        if turn.empty:
            del message["content"]
        return message | ({"usage": _usage(turn.tokens)} if turn.tokens else {})

    def events(self, whole: Json, _asked: AskedReply) -> Iterator[StreamEvent]:
        """A block after the other, each in pieces; the last event but one brings why it ended and what it used."""
        told = _told(whole) if "content" in whole else [{"type": "message_stop"}]
        return (StreamEvent(event["type"], event) for event in told)

    def error(self, message: str, *, kind: str, **_others: str | None) -> Json:
        """As Anthropic has it: a type and a text."""
        return {"type": "error", "error": {"type": kind, "message": message}}


def _unmarked(blocks: list[tuple[str, Json]]) -> tuple[Sequence[tuple[str, Json]], tuple[int, ...]]:
    """The blocks without their marks, and behind how many blocks the marks stood."""
    places = [place for place, (_, block) in enumerate(blocks) if "cache_control" in block]
    if len(places) > MOST_MARKS:
        raise BadRequestError(
            f"A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {len(places)}."
        )
    for place in places:
        where, block = blocks[place]
        blocks[place] = where, {name: value for name, value in block.items() if name != "cache_control"}
    return blocks, tuple(place + 1 for place in places)


def _blocks(turn: ScriptedTurn) -> Iterator[dict[str, Any]]:
    thought = turn.reply.reasoning
    if thought:
        yield {"type": "thinking", "thinking": thought, "signature": sealed(thought)}
    if turn.reply.text:
        yield {"type": "text", "text": turn.reply.text}
    for call_id, call in turn.calls:
        yield {"type": "tool_use", "id": call_id, "name": call.tool, "input": call.arguments}


def _usage(tokens: ScriptedTokens) -> dict[str, Any]:
    """The input's tokens are those beside the cache's."""
    return {
        "input_tokens": tokens.prompt - tokens.cached - tokens.written,
        "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": tokens.written,
        "output_tokens": tokens.output,
        "output_tokens_details": {"thinking_tokens": tokens.reasoning},
    }


def _told(whole: Json) -> Iterator[Json]:
    begun = {**whole, "content": [], "stop_reason": None}
    if "usage" in whole:
        begun["usage"] = {**whole["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        for piece in _pieces(block):
            kind = "content_block_start" if "content_block" in piece else "content_block_delta"
            yield {"type": kind, "index": index, **piece}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": whole.get("usage")}
    yield {"type": "message_stop"}


def _pieces(block: Json) -> Iterator[Json]:
    """The block as it begins, then its texts and its input in halves."""
    if block["type"] == "tool_use":
        written = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
        yield {"content_block": {**block, "input": {}}}
        for half in ("", *halves(written)):
            yield {"delta": {"type": "input_json_delta", "partial_json": half}}
    elif block["type"] == "thinking":
        yield {"content_block": {**block, "thinking": "", "signature": ""}}
        for half in halves(block["thinking"]):
            yield {"delta": {"type": "thinking_delta", "thinking": half}}
        yield {"delta": {"type": "signature_delta", "signature": block["signature"]}}
    else:
        yield {"content_block": {**block, "text": ""}}
        for half in halves(block["text"]):
            yield {"delta": {"type": "text_delta", "text": half}}
