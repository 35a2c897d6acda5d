"""An endpoint that answers as a test says: chat completions over real HTTP, well or badly."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Asked"], bytes | Iterable[bytes]]
"""The whole response, head and body, in one piece or piece by piece."""


@dataclass(frozen=True)
class Asked:
    """One request: its path with the query, its headers by lower-case name, and its body (none of a GET)."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def chars(self) -> int:
        """Those of its messages."""
        return len(json.dumps(self.body.get("messages", ())))


@dataclass
class OddEndpoint:
    """A running one, and what it was asked."""

    base_url: str
    asked: list[Asked] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)


@contextmanager
def odd_endpoint(answer: Answer) -> Iterator[OddEndpoint]:
    """An endpoint that gives this answer to every POST, and 404 to every GET, for as long as the block takes."""
    endpoint = OddEndpoint("")

    class Connection(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
            """Nothing."""

        def do_GET(self) -> None:
            self.wfile.write(response(404, {"detail": "Not Found"}))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            endpoint.asked.append(asked)
            given = answer(asked)
            for piece in [given] if isinstance(given, bytes) else given:
                try:
                    self.wfile.write(piece)
                except OSError:
                    return  # the client had enough
                if endpoint.stopping.is_set():
                    return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Connection)
    server.daemon_threads = True
    endpoint.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


def response(status: int, body: Any, kind: str = "application/json", **headers: str) -> bytes:
    """A whole response; a body that is no text is sent as JSON."""
    content = (body if isinstance(body, str) else json.dumps(body)).encode()
    more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} Odd\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
    return f"{head}{more}\r\n".encode() + content


def call(name: str, call_id: str | None = None, **arguments: Any) -> dict[str, Any]:
    """A tool call as chat completions have it."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": call_id or f"call_{arguments.get('number', 0)}", "type": "function", "function": function}


def completion(asked: Asked, *, usage: Any = True, **message: Any) -> bytes:
    """A chat completion, streamed where that was asked for; usage by the length of the prompt, or what is given."""
    told = {"prompt_tokens": asked.chars // 4 + 50, "completion_tokens": 20} if usage is True else usage
    said = {"role": "assistant", "content": None, **message}
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    top = {"id": "c1", "model": "odd", "usage": told}
    if not asked.body.get("stream"):
        return response(200, {**top, "choices": [{"index": 0, "message": said, "finish_reason": finish}]})
    if "tool_calls" in said:
        said["tool_calls"] = [{"index": at, **each} for at, each in enumerate(said["tool_calls"])]
    events = [{**top, "choices": [{"index": 0, "delta": said, "finish_reason": finish}]}]
    return response(200, streamed(events), "text/event-stream")


def streamed(events: Iterable[Mapping[str, Any]]) -> str:
    """The events as a stream's text."""
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
