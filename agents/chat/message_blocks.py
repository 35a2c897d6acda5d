"""The port's messages as the Messages API has them: content blocks, with marks where its cache is to keep them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agents.chat.port import Message, ToolSchema
from agents.chat.wire import Json

BLANK: Json = {"type": "text", "text": "(empty)"}
"""What stands for nothing: the API refuses empty texts."""

_KEPT: Json = {"type": "ephemeral"}
_THOUGHT = ("thinking", "redacted_thinking")


def tool_definitions(tools: Sequence[ToolSchema]) -> list[dict[str, Any]]:
    """Name, description and schema of each tool."""
    functions = [tool.get("function", tool) for tool in tools]
    return [
        {
            "name": function["name"],
            "description": function.get("description", ""),
            "input_schema": function.get("parameters") or {"type": "object"},
        }
        for function in functions
    ]


def system_blocks(messages: Sequence[Message], *, marks: bool) -> list[Json]:
    """The system texts; a mark on the last one keeps them and the tools, which the cache has before them."""
    blocks = [_text(message["content"]) for message in messages if message["role"] == "system"]
    return [*blocks[:-1], *(_mark(block) if marks else block for block in blocks[-1:])]


def message_blocks(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """All but the system texts. The results of one turn's calls stand in one message, which must follow the calls at
    once; other messages of ours stay apart, since the API joins what follows each other."""
    turns: list[dict[str, Any]] = []
    results: list[Json] = []
    for message in messages:
        if message["role"] == "tool":
            if not results:
                turns.append({"role": "user", "content": results})
            results.append(_result(message))
        elif message["role"] != "system":
            results = []
            turns.append({"role": message["role"], "content": _content(message)})
    return turns


def with_marks(turns: Sequence[Json]) -> list[Json]:
    """The turns with marks at the edges that stay: the end of the opening, the newest of ours, and what that was one
    reply ago, so that a long reply lies not between it and what is in the cache."""
    ours = [number for number, turn in enumerate(turns) if turn["role"] == "user"]
    newest_said = max((number for number, turn in enumerate(turns) if turn["role"] == "assistant"), default=0)
    before = [number for number in ours if number < newest_said]
    edges = {*ours[:1], *before[-1:], *ours[-1:]}
    return [_marked_turn(turn) if number in edges else turn for number, turn in enumerate(turns)]


def opens_with_thinking(turns: Sequence[Json]) -> bool:
    """Whether the newest reply thought before it called tools, or called none."""
    newest: list[Json] = next((turn["content"] for turn in reversed(turns) if turn["role"] == "assistant"), [])
    kinds = [block.get("type") for block in newest]
    return "tool_use" not in kinds or kinds[0] in _THOUGHT


def is_blank_text(block: Json) -> bool:
    """Whether a block is text without a letter."""
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def call_input(arguments_json: str) -> Json:
    """A call's arguments as an object, whatever they are."""
    try:
        value = json.loads(arguments_json or "{}")
    except (ValueError, RecursionError):
        value = arguments_json
    return value if isinstance(value, dict) else {"unreadable": value}


def _content(message: Message) -> list[Json]:
    """A message's blocks. A reply's are there as they came, unless we rebuilt it in the words of the port."""
    content = message.get("content")
    if isinstance(content, list):
        return content
    calls = [_tool_use(call) for call in message.get("tool_calls") or ()]
    return [*([_text(content)] if content or not calls else []), *calls]


def _text(content: str | None) -> Json:
    return {"type": "text", "text": content} if content and content.strip() else BLANK


def _tool_use(call: Json) -> Json:
    function = call["function"]
    return {
        "type": "tool_use",
        "id": call["id"],
        "name": function["name"],
        "input": call_input(function["arguments"]),
    }


def _result(message: Message) -> Json:
    text = _text(message["content"])["text"]
    return {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}


def _marked_turn(turn: Json) -> Json:
    *others, last = turn["content"]
    return {**turn, "content": [*others, _mark(last)]}


def _mark(block: Json) -> Json:
    return {**block, "cache_control": _KEPT}
