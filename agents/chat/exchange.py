"""One HTTP exchange under way, bounded by deadlines of ours.

An HTTP client's timeouts count per read: a server that drips a byte a second would never trip them, and one that thinks
before it speaks always would. So each exchange runs on a thread of its own, over a connection pool of its own, and
whoever waits for it gives up at the deadline and ends its connection, with whatever read hangs on it.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple

import httpx2

from agents.chat.failures import RetryableError
from agents.chat.sse import SseReader, is_event_stream
from agents.chat.wire import Json

MAX_REPLY_BYTES = 32 * 1024 * 1024

Send = Callable[[Any], AbstractContextManager[httpx2.Response]]
"""Sends a request over a client of an SDK and opens its response, unread."""


class Received(NamedTuple):
    """What came: the body, and its events where it is a stream of them."""

    body: bytes
    events: tuple[Json, ...]
    streamed: bool


class Line:
    """The connections of one client, so that they can be ended under a reader: closing them would neither wake it nor
    tell the endpoint, least of all before the reply has begun."""

    def __init__(self) -> None:
        self._streams: list[Any] = []

    def watch(self, request: httpx2.Request) -> None:
        """An event hook of the client's: notes what its requests connect to."""
        request.extensions = {**request.extensions, "trace": self._note}

    def _note(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._streams.append(info["return_value"])

    def hang_up(self) -> None:
        """End them all."""
        for stream in self._streams:
            connection = stream.get_extra_info("socket")
            if connection is not None:
                with suppress(OSError):  # ended already
                    connection.shutdown(socket.SHUT_RDWR)


class GivenUpError(Exception):
    """A deadline passed; the message says which."""


class Exchange:
    """One request under way: read by a thread of its own, while another waits for it. `heard` is told of every event of
    a stream as it comes, on the reading thread, and says whether it was the last."""

    def __init__(self, send: Send, heard: Callable[[Json], bool]) -> None:
        self.result: Future[Received] = Future()
        self._send = send
        self._heard = heard
        self._body = bytearray()
        self._events: list[Json] = []
        self._said_all = False
        self._left = False
        self._newest_s: float | None = None  # when the newest bytes came

    @property
    def body(self) -> bytes:
        """What has come so far."""
        return bytes(self._body)

    def run(self, client: Any) -> None:
        """Send, and read to the end."""
        try:
            with self._send(client) as response:
                self._read(response.iter_bytes())
            self.result.set_result(self._received())
        except BaseException as error:  # carried to the waiting thread, which judges it
            self.result.set_exception(error)

    def _read(self, chunks: Iterable[bytes]) -> None:
        reader = SseReader()
        for chunk in chunks:
            self._body += chunk
            self._newest_s = time.monotonic()
            if len(self._body) > MAX_REPLY_BYTES:
                raise RetryableError(f"a reply of more than {MAX_REPLY_BYTES // 2**20} MiB", accepted=True)
            if is_event_stream(bytes(self._body[:64])):
                self._take(reader.feed(chunk))
        if is_event_stream(bytes(self._body[:64])):
            self._take(reader.end())

    def _take(self, events: Iterable[Json]) -> None:
        for event in events:
            self._events.append(event)
            if not self._left and self._heard(event):
                self._said_all = True

    def _received(self) -> Received:
        return Received(bytes(self._body), tuple(self._events), is_event_stream(bytes(self._body[:64])))

    def leave(self) -> None:
        """Tell nobody of what still comes."""
        self._left = True

    def wait(self, idle_s: float, total_s: float) -> Received:
        """What came. Until the first byte no silence counts: the endpoint may think, or wait for its turn, for as long
        as the whole may take. Raises GivenUpError."""
        ends_s = time.monotonic() + total_s
        while not self.result.done():
            left_s = min(ends_s, self._silent_from() + idle_s) - time.monotonic()
            if left_s <= 0 and self._said_all:
                return self._received()  # all was said, only the connection was left open
            if left_s <= 0:
                raise GivenUpError(self._told(idle_s, total_s, late=time.monotonic() >= ends_s))
            with suppress(TimeoutError):
                self.result.exception(left_s)
        return self.result.result()

    def _silent_from(self) -> float:
        return time.monotonic() if self._newest_s is None else self._newest_s

    def _told(self, idle_s: float, total_s: float, *, late: bool) -> str:
        came = f" ({len(self._body):,} bytes had come)" if self._body else ""
        return (
            f"no complete reply came within {total_s:g} s{came}"
            if late
            else f"no byte of its reply came for {idle_s:g} s{came}"
        )
