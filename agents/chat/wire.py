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
from contextlib import suppress
from typing import Any, TypeVar

import httpx2
import openai

from agents.chat.endpoint import ModelEndpoint
from agents.chat.failures import Refusal, RetryableError, endpoint_refusal, judge_failure, retry_after_seconds
from agents.chat.json_tools import new_call_id
from orchestrator.domain.model_io import ModelReply, ToolCall
from orchestrator.domain.ports import Clock

MAX_REPLY_BYTES = 32 * 1024 * 1024
SNIPPET_BYTES = 1_000
_MOST_TOKENS = 10**9
"""More than any reply can use: a count beyond it is none, and the graph's integers hold it."""

_Read = TypeVar("_Read")
_Exchange = Callable[[openai.OpenAI], bytes]


class MalformedReplyError(Exception):
    """The reply is no chat completion; the message says what is wrong with it."""


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
        client = self._client()
        result: Future[bytes] = Future()
        threading.Thread(target=_settle, args=(result, exchange, client), name="chat-exchange", daemon=True).start()
        try:
            return result.result(self._total_s)
        finally:
            if result.done():
                self._kept.append(client)
            else:
                client.close()

    def _client(self) -> openai.OpenAI:
        """A kept one, else a new one."""
        with suppress(IndexError):
            return self._kept.pop()
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


# --- from a reply's bytes to what it says: servers differ in what they leave out -----------------------------------


def decode_reply(body: bytes) -> Mapping[str, Any]:
    """The reply as a JSON object. Raises MalformedReplyError."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedReplyError("not JSON" if body.strip() else "an empty body") from None
    if not isinstance(value, dict):
        raise MalformedReplyError(f"a JSON {type(value).__name__}, not an object")
    return value


def completion(reply: Mapping[str, Any]) -> ModelReply:
    """The first choice's message, `estimated` where no usage is reported. Raises MalformedReplyError without one."""
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise MalformedReplyError("no choices")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise MalformedReplyError("a choice without a message")
    calls = _tool_calls(message.get("tool_calls"))
    finish = choices[0].get("finish_reason") or ("tool_calls" if calls else "stop")
    return ModelReply(
        text=_text(message),
        calls=calls,
        finish_reason=str(finish),
        model=str(reply.get("model") or ""),
        **_usage(reply.get("usage")),
    )


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or message.get("refusal") or "")


def _tool_calls(raw: Any) -> tuple[ToolCall, ...]:
    """Every call with an id of its own: some servers send none, or the same one twice."""
    calls: list[ToolCall] = []
    seen: set[str] = set()
    for item in raw if isinstance(raw, list) else ():
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(function, dict):
            raise MalformedReplyError("a tool call without a function")
        call_id, given = str(item.get("id") or ""), function.get("arguments")
        if not call_id or call_id in seen:
            call_id = new_call_id()
        seen.add(call_id)
        written = given if isinstance(given, str) else "" if given is None else json.dumps(given)
        name = str(function.get("name") or "")
        calls.append(ToolCall(call_id=call_id, tool=name, arguments_json=written or "{}"))
    return tuple(calls)


def _usage(raw: Any) -> dict[str, Any]:
    """The endpoint's own count of tokens, as a reply's fields."""
    usage = raw if isinstance(raw, dict) else {}
    prompt, output = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or output is None:
        return {"estimated": True}
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    if cached is None:
        cached = _count(usage.get("prompt_cache_hit_tokens"))  # DeepSeek's name for it
    return {"prompt_tokens": prompt, "cached_tokens": min(cached or 0, prompt), "completion_tokens": output}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None
