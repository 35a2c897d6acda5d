"""One HTTP exchange with the endpoint, bounded by a deadline of ours. The only module that touches the openai client.

The client's timeouts count per read: a server that drips a byte a second would never trip them. So each exchange runs
on a thread of its own, over a connection pool of its own, and whoever waits for it gives up at the deadline and closes
the pool under it; this also ends a hang inside a single read. Pools are kept and reused (keep-alive).
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

import httpx2
import openai

from agents.chat.endpoint import ModelEndpoint
from agents.chat.failures import Refusal, RetryableError, endpoint_refusal, judge_failure, retry_after_seconds
from agents.chat.replies import MalformedReplyError, completion, decode_reply
from orchestrator.domain.model_io import ModelReply
from orchestrator.domain.ports import Clock

MAX_REPLY_BYTES = 32 * 1024 * 1024
SNIPPET_BYTES = 1_000

_Read = TypeVar("_Read")
_Exchange = Callable[[openai.OpenAI], bytes]


class Wire:
    """Requests to one endpoint: `idle_s` seconds without a byte and `total_s` seconds in all at most. Raises
    RetryableError, UnsupportedFieldError and the ModelErrors."""

    def __init__(self, endpoint: ModelEndpoint, *, idle_s: float, total_s: float, clock: Clock) -> None:
        self._endpoint, self._clock = endpoint, clock
        self._idle_s, self._total_s = min(idle_s, total_s), total_s
        self._headers: dict[str, Any] = {} if endpoint.key else {"Authorization": openai.Omit()}
        self._kept: deque[openai.OpenAI] = deque()

    def chat(self, body: Mapping[str, Any]) -> ModelReply:
        """One chat completion: the body goes out as it is given, past the client's transform of each message."""
        return self._read(lambda client: _chat(client, body, self._headers), completion)

    def models(self) -> Mapping[str, Any]:
        """The endpoint's list of models, as it is."""
        return self._read(lambda client: _models(client, self._headers), lambda reply: reply)

    def close(self) -> None:
        """Close the kept connections."""
        while self._kept:
            self._kept.pop().close()

    def _read(self, exchange: _Exchange, read: Callable[[Mapping[str, Any]], _Read]) -> _Read:
        body = self._judged(exchange)
        try:
            reply = decode_reply(body)
            error = reply.get("error")
            if error and not reply.get("choices"):
                raise judge_failure(_refusal_in_body(error), self._endpoint)
            return read(reply)
        except MalformedReplyError as error:
            start = self._endpoint.redacted(body[:SNIPPET_BYTES].decode("utf-8", "replace"))
            raise RetryableError(
                f"{self._endpoint.host} sent {error} instead of a chat completion: {start!r}"
            ) from None

    def _judged(self, exchange: _Exchange) -> bytes:
        host = self._endpoint.host
        try:
            return self._bounded(exchange)
        except TimeoutError:
            raise RetryableError(f"no complete reply from {host} within {self._total_s:g} s") from None
        except openai.APIStatusError as error:
            wait = retry_after_seconds(error.response.headers, self._clock.now())
            raise judge_failure(endpoint_refusal(error.status_code, error.body, wait), self._endpoint) from None
        except (openai.APITimeoutError, httpx2.TimeoutException):
            raise RetryableError(f"no byte from {host} for {self._idle_s:g} s") from None
        except (openai.APIConnectionError, httpx2.HTTPError, OSError) as error:
            cause = self._endpoint.redacted(str(error.__cause__ or error) or type(error).__name__)
            raise RetryableError(f"the connection to {host} failed: {cause}") from None

    def _bounded(self, exchange: _Exchange) -> bytes:
        """The exchange's bytes, or TimeoutError at the deadline, whatever the server does. Where we leave while the
        exchange is still running (also by Ctrl-C), its pool is closed, which ends it."""
        client = self._kept_or_new()
        result: Future[bytes] = Future()
        threading.Thread(target=_settle, args=(result, exchange, client), name="chat-exchange", daemon=True).start()
        try:
            return result.result(self._total_s)
        finally:
            if result.done():
                self._kept.append(client)
            else:
                client.close()

    def _kept_or_new(self) -> openai.OpenAI:
        try:
            return self._kept.pop()
        except IndexError:
            return self._connect()

    def _connect(self) -> openai.OpenAI:
        # A proxy of the environment never stands between us and a loopback endpoint.
        http = openai.DefaultHttpxClient(trust_env=not self._endpoint.loopback, timeout=self._idle_s)
        return openai.OpenAI(
            api_key=self._endpoint.key or "none",  # without a key the header is left out
            base_url=self._endpoint.base_url,
            max_retries=0,
            timeout=self._idle_s,
            http_client=http,
        )


def _settle(result: Future[bytes], exchange: _Exchange, client: openai.OpenAI) -> None:
    try:
        result.set_result(exchange(client))
    except BaseException as error:  # carried to the waiting thread, which judges it
        result.set_exception(error)


def _chat(client: openai.OpenAI, body: Mapping[str, Any], headers: dict[str, Any]) -> bytes:
    try:
        return _send(client, body, headers)
    except UnicodeEncodeError:  # a lone surrogate in a message, which no UTF-8 can hold
        clean = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return _send(client, json.loads(clean), headers)


def _send(client: openai.OpenAI, body: Mapping[str, Any], headers: dict[str, Any]) -> bytes:
    # extra_body is merged after the client's typed transform, which at 400 messages takes 50 ms and changes nothing.
    create = client.chat.completions.with_streaming_response.create
    with create(model=body["model"], messages=[], extra_body=dict(body), extra_headers=headers) as response:
        return _capped(response.iter_bytes())


def _models(client: openai.OpenAI, headers: dict[str, Any]) -> bytes:
    with client.models.with_streaming_response.list(extra_headers=headers) as response:
        return _capped(response.iter_bytes())


def _capped(chunks: Iterable[bytes]) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > MAX_REPLY_BYTES:
            raise RetryableError(f"a reply of more than {MAX_REPLY_BYTES // 2**20} MiB")
    return bytes(body)


def _refusal_in_body(error: Any) -> Refusal:
    """An error that came with status 200, as gateways and some llama.cpp versions send it: its code is the status."""
    code = error.get("code") if isinstance(error, Mapping) else None
    status = code if isinstance(code, int) and 400 <= code <= 599 else 500
    return endpoint_refusal(status, {"error": error}, None)
