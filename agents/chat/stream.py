"""A streamed reply put together: the deltas of its server-sent events make the chat completion that they are parts of.

The events are read when the last byte is there: nobody needs a half reply, and one that breaks off is none.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.chat.failures import MalformedReplyError

STREAMING: Mapping[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
"""What asks for a stream, with the usage that the endpoint would report otherwise."""

_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")  # a line that begins with a colon is a comment
_DONE = b"[DONE]"
_LAST_EVENT = re.compile(rb"(?:^|[\r\n])data: ?\[DONE\]\s*$")

_Pieces = defaultdict[str, list[Any]]


def is_event_stream(body: bytes) -> bool:
    """Whether a body is a stream of events, told by how it begins: servers differ in the content type."""
    return body[:64].lstrip().startswith(_FIELDS)


def ends_stream(tail: bytes) -> bool:
    """Whether the last bytes of a stream say that nothing follows."""
    return _LAST_EVENT.search(tail) is not None


def streamed_completion(body: bytes) -> Mapping[str, Any]:
    """The chat completion that the events make, with the fields that we do not know too, and `error` where an event
    brought one. Raises MalformedReplyError for a stream that breaks off: one without finish reason and [DONE]."""
    reply, done = _Reply(), False
    for event in _events(body):
        done = done or event == _DONE
        if event != _DONE:
            reply.add(_read(event))
    if not (done or reply.finish_reason or reply.top.get("error")):
        raise MalformedReplyError("a stream that breaks off")
    return reply.completion()


def _events(body: bytes) -> Iterator[bytes]:
    """The data of each event; comments and other fields say nothing to us."""
    data: list[bytes] = []
    for line in (*body.splitlines(), b""):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data).strip()
            data.clear()


def _read(event: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(event)
    except (ValueError, RecursionError):
        raise MalformedReplyError("a stream that breaks off, or an event that is no JSON,") from None
    if not isinstance(value, dict):
        raise MalformedReplyError(f"an event that is a JSON {type(value).__name__}, not an object,")
    return value


class _Reply:
    """What the events have brought so far. `top` are the newest values of the fields around the choice: usage comes
    with the last event, or grows with each."""

    def __init__(self) -> None:
        self.top: dict[str, Any] = {}
        self.finish_reason: str | None = None
        self._begun = False
        self._message: _Pieces = defaultdict(list)
        self._calls: list[_Call] = []
        self._by_index: dict[int | None, _Call] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Take in one event; other choices than the first were not asked for."""
        self.top |= {name: value for name, value in event.items() if name != "choices" and value}
        for choice in _objects(event.get("choices")):
            if choice.get("index") in (0, None):
                self._begun = True
                self.finish_reason = choice.get("finish_reason") or self.finish_reason
                self._add_delta(choice.get("delta"))

    def _add_delta(self, delta: Any) -> None:
        for name, value in delta.items() if isinstance(delta, dict) else ():
            if name == "tool_calls":
                for part in _objects(value):
                    self._call_of(part).add(part)
            elif value is not None:
                self._message[name].append(value)

    def _call_of(self, part: Mapping[str, Any]) -> _Call:
        """The call that a delta begins or goes on with: by its index, where a server sends one."""
        index = part.get("index") if isinstance(part.get("index"), int) else None
        call = self._by_index.get(index)
        if call is None or call.is_followed_by(part):
            call = self._by_index[index] = _Call()
            self._calls.append(call)
        return call

    def completion(self) -> Mapping[str, Any]:
        """The whole, in the shape of a reply that was not streamed."""
        message = {name: _joined(pieces) for name, pieces in self._message.items()} | {"role": "assistant"}
        if self._calls:
            message["tool_calls"] = [call.whole() for call in self._calls]
        choice = {"index": 0, "finish_reason": self.finish_reason, "message": message}
        return {**self.top, "choices": [choice] if self._begun else []}


class _Call:
    """One tool call: name and arguments come in pieces, the id with the first of them."""

    def __init__(self) -> None:
        self._fields: _Pieces = defaultdict(list)
        self._function: _Pieces = defaultdict(list)

    def is_followed_by(self, part: Mapping[str, Any]) -> bool:
        """Whether the delta begins another call: some servers send whole calls that all have one index, or none."""
        function, given = part.get("function"), part.get("id")
        if "name" not in self._function or not isinstance(function, dict) or not function.get("name"):
            return False
        return given not in self._fields.get("id", ()) if given else part.get("index") is None

    def add(self, part: Mapping[str, Any]) -> None:
        """Take in one delta."""
        for name, value in part.items():
            if name == "function":
                for inner, piece in value.items() if isinstance(value, dict) else ():
                    if piece is not None:
                        self._function[inner].append(str(piece) if inner == "name" else piece)
            elif value:
                self._fields[name].append(value)

    def whole(self) -> Mapping[str, Any]:
        """The call as a reply that was not streamed has it; an id, a type or a name that was told again counts once."""
        function = {inner: _joined(pieces) for inner, pieces in self._function.items()}
        function["name"] = "".join(dict.fromkeys(self._function.get("name", ())))
        told = {name: pieces[0] if name in ("id", "type") else _joined(pieces) for name, pieces in self._fields.items()}
        return {**told, "function": function} if self._function else told


def _joined(pieces: Sequence[Any]) -> Any:
    """One value of a field's pieces: texts joined, lists behind each other, of anything else the last one."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    if all(isinstance(piece, str | list) for piece in pieces):
        lists = ([{"type": "text", "text": piece}] if isinstance(piece, str) else piece for piece in pieces)
        return [part for parts in lists for part in parts]
    return pieces[-1]


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
