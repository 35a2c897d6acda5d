"""A streamed message of the Messages API, put together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agents.chat.failures import MalformedReplyError
from agents.chat.wire import Json

_LATER = ("content", "stop_reason")  # begun messages have neither, whatever they say


def joined_message(events: Sequence[Json]) -> Json:
    """The message that the events build, with `error` where one brought an error. Raises MalformedReplyError for a
    stream that breaks off, or whose pieces belong to nothing."""
    reply = _Blocks()
    for event in events:
        reply.add(event)
    if not (reply.top.get("error") or (reply.begun and reply.ended)):
        raise MalformedReplyError("a stream that breaks off")
    return reply.message()


class _Blocks:
    """What the events have brought so far. `top` are the fields around the content; usage is cumulative."""

    def __init__(self) -> None:
        self.top: dict[str, Any] = {}
        self.begun = False
        self.ended = False
        self._blocks: list[_Block] = []
        self._by_index: dict[Any, _Block] = {}

    def add(self, event: Json) -> None:
        """Take in one event; a ping, and what we do not know, say nothing."""
        kind = event.get("type")
        if kind == "message_start":
            self.begun = True
            self._tell({name: value for name, value in _object(event, "message").items() if name not in _LATER})
        elif kind == "content_block_start":
            block = self._by_index[_index(event)] = _Block(_object(event, "content_block"))
            self._blocks.append(block)
        elif kind == "content_block_delta":
            if _index(event) not in self._by_index:
                raise MalformedReplyError("a piece of a block that was not begun")
            self._by_index[_index(event)].add(_object(event, "delta"))
        elif kind == "message_delta":
            self._tell({**_object(event, "delta"), "usage": event.get("usage")})
            self.ended = self.ended or bool(self.top.get("stop_reason"))
        elif kind == "error":
            self.top["error"] = event.get("error") or {"message": "an error that says nothing"}
        elif kind == "message_stop":
            self.ended = True

    def _tell(self, told: Json) -> None:
        """What is null now leaves what was told before."""
        self.top |= {name: value for name, value in told.items() if value is not None and name != "usage"}
        counts = told.get("usage")
        for name, count in counts.items() if isinstance(counts, dict) else ():
            if count is not None:
                self.top.setdefault("usage", {})[name] = count

    def message(self) -> Json:
        """The whole, in the shape of one that was not streamed."""
        return {**self.top, "content": [block.whole() for block in self._blocks]}


class _Block:
    """One content block: as it began, and the pieces of its fields."""

    def __init__(self, begun: Json) -> None:
        self._begun = begun
        self._pieces: dict[str, list[str]] = {}
        self._citations: list[Any] = []

    def add(self, delta: Json) -> None:
        """Take in one piece. That of a kind that we do not know is read like text, thinking and signatures, whose kind
        is named after the field (`text_delta`), else passed over."""
        kind = str(delta.get("type") or "")
        name = "partial_json" if kind == "input_json_delta" else kind.removesuffix("_delta")
        if kind == "citations_delta" and "citation" in delta:
            self._citations.append(delta["citation"])
        elif isinstance(delta.get(name), str):
            self._pieces.setdefault(name, []).append(delta[name])

    def whole(self) -> Json:
        """The block as a message that was not streamed has it."""
        told = {name: "".join([self._first(name), *pieces]) for name, pieces in self._pieces.items()}
        written = told.pop("partial_json", "")
        block = {**self._begun, **told}
        if self._citations:
            block["citations"] = self._citations
        return {**block, "input": _input(written)} if written else block

    def _first(self, name: str) -> str:
        begun = self._begun.get(name)
        return begun if isinstance(begun, str) else ""


def _input(written: str) -> Any:
    """A call's input: the object, or the text where it is none, as of a reply that was cut."""
    try:
        value = json.loads(written)
    except (ValueError, RecursionError):
        return written
    return value if isinstance(value, dict) else written


def _index(event: Json) -> int:
    index = event.get("index")
    if not isinstance(index, int):
        raise MalformedReplyError("a block without an index")
    return index


def _object(event: Json, name: str) -> Json:
    value = event.get(name)
    if not isinstance(value, dict):
        raise MalformedReplyError(f"an event without its {name}")
    return value
