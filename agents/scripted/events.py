"""Server-sent events as HTTP chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable

from agents.scripted.form import StreamEvent


def event_stream(events: Iterable[StreamEvent]) -> bytes:
    """The body of a chunked response, an event a chunk."""
    written = (_written(event).encode() for event in events)
    return b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in written) + b"0\r\n\r\n"


def _written(event: StreamEvent) -> str:
    data = event.told if isinstance(event.told, str) else json.dumps(event.told)
    return f"event: {event.name}\ndata: {data}\n\n" if event.name else f"data: {data}\n\n"
