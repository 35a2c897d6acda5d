"""Server-sent events, read as they come."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agents.chat.failures import MalformedReplyError

DONE: Mapping[str, Any] = {"done": True}
"""What stands for the event `[DONE]`, with which chat completions end."""

_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")  # a line that begins with a colon is a comment
_DONE = b"[DONE]"


def is_event_stream(body: bytes) -> bool:
    """Whether a body is a stream of events, told by how it begins: servers differ in the content type."""
    return body[:64].lstrip().startswith(_FIELDS)


class SseReader:
    """Takes a body in as it comes and gives the events that are complete, each the JSON object of its data; comments
    and other fields say nothing to us."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[Mapping[str, Any]]:
        """The events that end within the chunk. Raises MalformedReplyError for one that is no JSON object."""
        # A \r at a chunk's end waits for the \n that may follow it: the two are one line's end.
        text = self._rest + chunk
        held = b"\r" if text.endswith(b"\r") else b""
        lines = text.removesuffix(b"\r").split(b"\n") if held else text.split(b"\n")
        self._rest = lines.pop() + held
        for line in lines:
            yield from self._line(line)

    def end(self) -> Iterator[Mapping[str, Any]]:
        """The event that the body's end completes."""
        rest, self._rest = self._rest, b""
        yield from self._line(rest)
        yield from self._line(b"")

    def _line(self, line: bytes) -> Iterator[Mapping[str, Any]]:
        for part in line.removesuffix(b"\r").split(b"\r"):
            if part.startswith(b"data:"):
                self._data.append(part[5:].removeprefix(b" "))
            elif not part and self._data:
                data, self._data = b"\n".join(self._data).strip(), []
                yield DONE if data == _DONE else _read(data)


def _read(data: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise MalformedReplyError("a stream that breaks off, or an event that is no JSON,") from None
    if not isinstance(value, dict):
        raise MalformedReplyError(f"an event that is a JSON {type(value).__name__}, not an object,")
    return value
