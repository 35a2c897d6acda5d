"""Requests to one endpoint over a wire: connections kept, failures judged. Pools are kept and reused (keep-alive)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx2

from agents.chat.endpoint import ModelEndpoint
from agents.chat.exchange import Exchange, GivenUpError, Line, Received, Send
from agents.chat.failures import (
    MalformedReplyError,
    RetryableError,
    judge_failure,
    retry_after_seconds,
)
from agents.chat.refusal import Refusal, endpoint_refusal, is_page, refusal_in_reply
from agents.chat.sdk import Sdk
from agents.chat.wire import Json, Wire, decode_reply
from orchestrator.domain.model_io import ModelReply
from orchestrator.domain.ports import Clock

SNIPPET_BYTES = 1_000

_LOOK_S = 10.0  # nobody has to think about what an endpoint tells of itself
_WORKING = "had accepted the request and was working"
_BROKEN_OFF = (httpx2.ReadError, httpx2.ReadTimeout, httpx2.RemoteProtocolError, httpx2.DecodingError)
"""How a connection fails on which the whole request has gone out."""


class EndpointClient:
    """Requests over one wire, each over after `total_s` seconds in all, a streamed one also after `idle_s` seconds
    between two bytes of its reply. Raises RetryableError, UnsupportedFieldError, NoSuchWireError, and the
    ModelErrors."""

    def __init__(
        self, endpoint: ModelEndpoint, wire: Wire, sdk: Sdk, *, idle_s: float, total_s: float, clock: Clock
    ) -> None:
        self.streams = True
        """Whether a reply that was asked for as a stream came as one, as long as nothing else was seen."""
        self.wire = wire
        self._endpoint, self._sdk, self._clock = endpoint, sdk, clock
        self._idle_s, self._total_s = min(idle_s, total_s), total_s
        self._kept: deque[tuple[Any, Line]] = deque()

    def ask(self, body: Json, on_text: Callable[[str], None]) -> ModelReply:
        """One request: the body goes out as it is given. Silence ends it only where it was asked for as a stream, whose
        text is told piece by piece, on a thread of its own."""
        streamed = body.get("stream") is True
        idle_s = self._idle_s if streamed else self._total_s

        def heard(event: Json) -> bool:
            piece = self.wire.text(event)
            if piece:
                on_text(piece)
            return self.wire.ends(event)

        send: Send = lambda client: self._sdk.post(client, self.wire.path, body)  # noqa: E731 - typed by its alias
        received = self._judged(Exchange(send, heard), idle_s, self._total_s)
        with self._malformed(received):
            reply = self.wire.reply(self._answer(received))
        self.streams = self.streams and (received.streamed or not streamed)
        return reply

    def look(self, path: str) -> Json:
        """The JSON object that stands at a path below the endpoint's address (`/models`), or at an address."""
        most_s = min(self._idle_s, _LOOK_S)
        send: Send = lambda client: self._sdk.get(client, path)  # noqa: E731 - typed by its alias
        received = self._judged(Exchange(send, lambda _event: False), most_s, most_s)
        with self._malformed(received):
            return self._answer(received)

    def close(self) -> None:
        """Close the kept connections."""
        while self._kept:
            self._kept.pop()[0].close()

    def _answer(self, received: Received) -> Json:
        """The answer as an object. Raises MalformedReplyError, and what an error in it stands for."""
        answer = self.wire.joined(received.events) if received.streamed else decode_reply(received.body)
        error = answer.get("error")
        if error and (received.streamed or not answer.get("choices")):
            failure = self._judge(refusal_in_reply(error))
            if isinstance(failure, RetryableError):
                failure.accepted = any(answer.get(name) for name in ("choices", "output", "content"))
            raise failure
        return answer

    @contextmanager
    def _malformed(self, received: Received) -> Iterator[None]:
        try:
            yield
        except MalformedReplyError as error:
            raise self._not_a_reply(error, received.body, streamed=received.streamed) from None

    def _judge(self, refusal: Refusal) -> Exception:
        return judge_failure(refusal, self._endpoint, self.wire.name)

    def _not_a_reply(self, error: MalformedReplyError, body: bytes, *, streamed: bool) -> Exception:
        text = body[:SNIPPET_BYTES].decode("utf-8", "replace")
        if is_page(text):
            return self._judge(Refusal(200, text))
        start = self._endpoint.redacted(text)
        told = f"{self._endpoint.host} sent {error} instead of {self.wire.reply_name}: {start!r}"
        return RetryableError(told, accepted=streamed)

    def _judged(self, exchange: Exchange, idle_s: float, total_s: float) -> Received:
        host = self._endpoint.host
        try:
            return self._bounded(exchange, idle_s, total_s)
        except GivenUpError as error:
            raise RetryableError(f"{host} {_WORKING}, but {error}", accepted=True) from None
        except MalformedReplyError as error:  # an event that nobody can read
            raise self._not_a_reply(error, exchange.body, streamed=True) from None
        except self._sdk.status_error as error:
            wait = retry_after_seconds(error.response.headers, self._clock.now())
            leads = error.response.headers.get("location") if 300 <= error.status_code < 400 else None
            body = error.body if leads is None else f"It redirects to {leads}"
            raise self._judge(endpoint_refusal(error.status_code, body, wait)) from None
        except self._sdk.connection_error as error:
            raise self._broken(error.__cause__ or error) from None
        except (httpx2.HTTPError, OSError) as error:
            raise self._broken(error) from None

    def _broken(self, cause: BaseException) -> RetryableError:
        """A connection that failed, before or after the endpoint had the whole request."""
        told = self._endpoint.redacted(str(cause)) or type(cause).__name__
        if isinstance(cause, _BROKEN_OFF):
            return RetryableError(f"{self._endpoint.host} {_WORKING}, but the connection failed: {told}", accepted=True)
        return RetryableError(f"the connection to {self._endpoint.host} failed: {told}")

    def _bounded(self, exchange: Exchange, idle_s: float, total_s: float) -> Received:
        """What the exchange brings, whatever the server does. Where we leave while it is still running (also by
        Ctrl-C), its pool is closed, which ends it. Raises GivenUpError at a deadline."""
        client, line = connected = self._connected()
        threading.Thread(target=exchange.run, args=(client,), name="chat-exchange", daemon=True).start()
        try:
            return exchange.wait(idle_s, total_s)
        finally:
            if exchange.result.done():
                self._kept.append(connected)
            else:
                exchange.leave()
                line.hang_up()
                client.close()

    def _connected(self) -> tuple[Any, Line]:
        """A kept client, else a new one."""
        with suppress(IndexError):
            return self._kept.pop()
        line = Line()
        return self._sdk.connect(line, self._idle_s, self._total_s), line
