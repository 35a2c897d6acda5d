"""One HTTP exchange with the endpoint, bounded by deadlines of ours. The only module that touches the openai client.

The client's timeouts count per read: a server that drips a byte a second would never trip them, and one that thinks
before it speaks always would. So each exchange runs on a thread of its own, over a connection pool of its own, and
whoever waits for it gives up at the deadline and ends its connection, with whatever read hangs on it.
Pools are kept and reused (keep-alive).
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from typing import Any

import httpx2
import openai

from agents.chat.completion import completion, decode_reply
from agents.chat.endpoint import ModelEndpoint
from agents.chat.failures import (
    MalformedReplyError,
    Refusal,
    RetryableError,
    endpoint_refusal,
    judge_failure,
    retry_after_seconds,
)
from agents.chat.stream import ends_stream, is_event_stream, streamed_completion
from orchestrator.domain.model_io import ModelReply
from orchestrator.domain.ports import Clock

MAX_REPLY_BYTES = 32 * 1024 * 1024
SNIPPET_BYTES = 1_000

_LOOK_S = 10.0  # nobody has to think about what an endpoint tells of itself
_WORKING = "had accepted the request and was working"
_LATER_S = 1.0  # the client's own timeout comes behind ours, which knows what to say
_Send = Callable[[openai.OpenAI], AbstractContextManager[httpx2.Response]]
_BROKEN_OFF = (httpx2.ReadError, httpx2.ReadTimeout, httpx2.RemoteProtocolError, httpx2.DecodingError)
"""How a connection fails on which the whole request has gone out."""


class Wire:
    """Requests to one endpoint, each over after `total_s` seconds in all, a streamed one also after `idle_s` seconds
    between two bytes of its reply. Raises RetryableError, UnsupportedFieldError and the ModelErrors."""

    def __init__(self, endpoint: ModelEndpoint, *, idle_s: float, total_s: float, clock: Clock) -> None:
        self.streams = True
        """Whether a reply that was asked for as a stream came as one, as long as nothing else was seen."""
        self._endpoint, self._clock = endpoint, clock
        self._idle_s, self._total_s = min(idle_s, total_s), total_s
        self._headers: dict[str, Any] = {} if endpoint.key else {"Authorization": openai.Omit()}
        self._kept: deque[openai.OpenAI] = deque()

    def chat(self, body: Mapping[str, Any]) -> ModelReply:
        """One chat completion: the body goes out as it is given, past the client's transform of each message. Silence
        ends it only where it was asked for as a stream."""
        streamed = body.get("stream") is True
        idle_s = self._idle_s if streamed else self._total_s
        received = self._judged(lambda client: _chat(client, body, self._headers), idle_s, self._total_s)
        with self._malformed(received):
            answer = completion(self._reply(received))
        self.streams = self.streams and (is_event_stream(received) or not streamed)
        return answer

    def look(self, path: str) -> Mapping[str, Any]:
        """The JSON object that stands at a path below the endpoint's address (`/models`), or at an address."""
        most_s = min(self._idle_s, _LOOK_S)
        received = self._judged(lambda client: _look(client, path, self._headers), most_s, most_s)
        with self._malformed(received):
            return self._reply(received)

    def close(self) -> None:
        """Close the kept connections."""
        while self._kept:
            self._kept.pop().close()

    def _reply(self, received: bytes) -> Mapping[str, Any]:
        """The reply as an object. Raises MalformedReplyError, and what an error in it stands for."""
        streamed = is_event_stream(received)
        reply = streamed_completion(received) if streamed else decode_reply(received)
        error = reply.get("error")
        if error and (streamed or not reply.get("choices")):
            failure = judge_failure(_refusal_in_body(error), self._endpoint)
            if isinstance(failure, RetryableError):
                failure.accepted = bool(reply.get("choices"))
            raise failure
        return reply

    @contextmanager
    def _malformed(self, received: bytes) -> Iterator[None]:
        try:
            yield
        except MalformedReplyError as error:
            start = self._endpoint.redacted(received[:SNIPPET_BYTES].decode("utf-8", "replace"))
            raise RetryableError(
                f"{self._endpoint.host} sent {error} instead of a chat completion: {start!r}",
                accepted=is_event_stream(received),
            ) from None

    def _judged(self, send: _Send, idle_s: float, total_s: float) -> bytes:
        host = self._endpoint.host
        try:
            return self._bounded(_Exchange(send), idle_s, total_s)
        except _GivenUpError as error:
            raise RetryableError(f"{host} {_WORKING}, but {error}", accepted=True) from None
        except openai.APIStatusError as error:
            wait = retry_after_seconds(error.response.headers, self._clock.now())
            raise judge_failure(endpoint_refusal(error.status_code, error.body, wait), self._endpoint) from None
        except openai.APIConnectionError as error:
            raise self._broken(error.__cause__ or error) from None
        except (httpx2.HTTPError, OSError) as error:
            raise self._broken(error) from None

    def _broken(self, cause: BaseException) -> RetryableError:
        """A connection that failed, before or after the endpoint had the whole request."""
        told = self._endpoint.redacted(str(cause)) or type(cause).__name__
        if isinstance(cause, _BROKEN_OFF):
            return RetryableError(f"{self._endpoint.host} {_WORKING}, but the connection failed: {told}", accepted=True)
        return RetryableError(f"the connection to {self._endpoint.host} failed: {told}")

    def _bounded(self, exchange: _Exchange, idle_s: float, total_s: float) -> bytes:
        """The exchange's bytes, whatever the server does. Where we leave while it is still running (also by Ctrl-C),
        its pool is closed, which ends it. Raises _GivenUpError at a deadline."""
        client = self._client()
        threading.Thread(target=exchange.run, args=(client,), name="chat-exchange", daemon=True).start()
        try:
            return exchange.wait(idle_s, total_s)
        finally:
            if exchange.result.done():
                self._kept.append(client)
            else:
                exchange.hang_up()
                client.close()

    def _client(self) -> openai.OpenAI:
        """A kept one, else a new one."""
        with suppress(IndexError):
            return self._kept.pop()
        timeout = openai.Timeout(self._total_s + _LATER_S, connect=self._idle_s)
        # A proxy of the environment never stands between us and a loopback endpoint.
        http = openai.DefaultHttpxClient(trust_env=not self._endpoint.loopback, timeout=timeout)
        return openai.OpenAI(
            api_key=self._endpoint.key or "none",  # without a key the header is left out
            base_url=self._endpoint.base_url,
            max_retries=0,
            timeout=timeout,
            http_client=http,
        )


class _GivenUpError(Exception):
    """A deadline passed; the message says which."""


class _Exchange:
    """One request under way: read by a thread of its own, while another waits for it."""

    def __init__(self, send: _Send) -> None:
        self.result: Future[bytes] = Future()
        self._send = send
        self._body = bytearray()
        self._newest_s: float | None = None  # when the newest bytes came
        self._response: httpx2.Response | None = None

    def run(self, client: openai.OpenAI) -> None:
        """Send, and read to the end."""
        try:
            with self._send(client) as self._response:
                received = self._whole(self._response.iter_bytes())
            self.result.set_result(received)
        except BaseException as error:  # carried to the waiting thread, which judges it
            self.result.set_exception(error)

    def _whole(self, chunks: Iterable[bytes]) -> bytes:
        for chunk in chunks:
            self._body += chunk
            self._newest_s = time.monotonic()
            if len(self._body) > MAX_REPLY_BYTES:
                raise RetryableError(f"a reply of more than {MAX_REPLY_BYTES // 2**20} MiB", accepted=True)
        return bytes(self._body)

    def hang_up(self) -> None:
        """End the connection under a reader: closing it would neither wake the reader nor tell the endpoint."""
        stream = self._response.extensions.get("network_stream") if self._response else None
        connection = stream.get_extra_info("socket") if stream else None
        if connection is not None:
            with suppress(OSError):  # ended already
                connection.shutdown(socket.SHUT_RDWR)

    def wait(self, idle_s: float, total_s: float) -> bytes:
        """The reply's bytes. Until the first of them no silence counts: the endpoint may think, or wait for its turn,
        for as long as the whole may take. Raises _GivenUpError."""
        ends_s = time.monotonic() + total_s
        while not self.result.done():
            left_s = min(ends_s, self._silent_from() + idle_s) - time.monotonic()
            if left_s <= 0 and ends_stream(bytes(self._body[-64:])):
                return bytes(self._body)  # all was said, only the connection was left open
            if left_s <= 0:
                raise _GivenUpError(self._told(idle_s, total_s, late=time.monotonic() >= ends_s))
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


@contextmanager
def _chat(client: openai.OpenAI, body: Mapping[str, Any], headers: dict[str, Any]) -> Iterator[httpx2.Response]:
    with ExitStack() as stack:
        try:
            response = stack.enter_context(_post(client, body, headers))
        except UnicodeEncodeError:  # a lone surrogate in a message, which no UTF-8 can hold
            clean = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
            response = stack.enter_context(_post(client, json.loads(clean), headers))
        yield response.http_response


def _post(
    client: openai.OpenAI, body: Mapping[str, Any], headers: dict[str, Any]
) -> AbstractContextManager[openai.APIResponse[Any]]:
    # extra_body is merged after the client's typed transform, which at 400 messages takes 50 ms and changes nothing.
    create = client.chat.completions.with_streaming_response.create
    return create(model=body["model"], messages=[], extra_body=dict(body), extra_headers=headers)


def _look(client: openai.OpenAI, path: str, headers: dict[str, Any]) -> AbstractContextManager[httpx2.Response]:
    options: Any = {"headers": headers}
    answer: Any = client.get(  # with this cast_to it is the response itself, unread, whatever the signature says
        path, cast_to=httpx2.Response, options=options, stream=True, stream_cls=openai.Stream[Any]
    )
    return closing(answer)


def _refusal_in_body(error: Any) -> Refusal:
    """An error that came with status 200, as gateways and some llama.cpp versions send it: its code is the status."""
    code = error.get("code") if isinstance(error, Mapping) else None
    status = code if isinstance(code, int) and 400 <= code <= 599 else 500
    return endpoint_refusal(status, {"error": error}, None)
