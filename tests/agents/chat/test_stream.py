"""Streamed replies: put together from whatever pieces a server sends, and asked for only where they come."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agents.chat.completions import STREAMING, Completions
from agents.chat.failures import MalformedReplyError
from agents.chat.model_chat import ModelChat
from agents.chat.sse import SseReader, is_event_stream
from agents.scripted.server import serve
from orchestrator.config.settings import ModelSettings
from orchestrator.domain.model_io import ModelReply
from tests.support.chat_world import HELLO, FixedClock, refusal, world

OK = {"text": "Hi."}
FINISH = {"delta": {}, "finish_reason": "stop"}
USAGE = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}


def events(*choices: dict[str, Any], end: str = "\n\n", done: bool = True) -> bytes:
    """A stream of chunks with these choices, or of whole events."""
    whole = [each if "choices" in each or "error" in each else {"model": "m", "choices": [each]} for each in choices]
    data = [*(json.dumps(event) for event in whole), *(["[DONE]"] if done else [])]
    return "".join(f"data: {each}{end}" for each in data).encode()


def joined(body: bytes) -> Mapping[str, Any]:
    """What a stream makes when it comes a byte at a time, as when it comes at once."""
    at_once, by_bytes = SseReader(), SseReader()
    whole = [*at_once.feed(body), *at_once.end()]
    pieces = [event for byte in body for event in by_bytes.feed(bytes((byte,)))]
    assert [*pieces, *by_bytes.end()] == whole
    return Completions().joined(whole)


def read(body: bytes) -> ModelReply:
    """The reply that a stream is."""
    return Completions().reply(joined(body))


def called(*parts: dict[str, Any]) -> list[tuple[str, str]]:
    """The (tool, arguments) that deltas of tool calls make."""
    body = events(*({"delta": {"tool_calls": [part]}} for part in parts), FINISH)
    return [(call.tool, call.arguments_json) for call in read(body).calls]


def part(name: str | None = None, arguments: str | None = None, **more: Any) -> dict[str, Any]:
    """One delta of a tool call."""
    given = {"name": name, "arguments": arguments}
    return {**more, "function": {key: value for key, value in given.items() if value is not None}}


TEXT = events({"delta": {"role": "assistant", "content": "data:[DONE]"}}, {"delta": {"content": "\n\n"}}, FINISH, USAGE)


@pytest.mark.parametrize(
    "body",
    [
        TEXT,
        TEXT.replace(b"\n", b"\r\n"),
        TEXT.replace(b"data: ", b"data:"),
        b": waiting\n\n" + TEXT.replace(b"data: {", b": ping\n\nevent: message\nid: 1\ndata: {"),
        TEXT.removesuffix(b"data: [DONE]\n\n"),
        TEXT + b"\n",
    ],
    ids=["plain", "CRLF", "no space", "comments and fields", "no [DONE]", "a line more"],
)
def test_a_stream_is_read_as_servers_write_it(body: bytes) -> None:
    """Line ends, comments, other fields and a missing end mark change nothing; usage comes with the last event."""
    reply = read(body)
    assert is_event_stream(body)
    assert (reply.text, reply.finish_reason, reply.model) == ("data:[DONE]\n\n", "stop", "m")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.estimated) == (7, 3, False)


def test_tool_calls_are_put_together_by_index() -> None:
    """Deltas of two calls may take turns; each call has its own name and arguments."""
    assert called(
        part("read", "", index=0, id="a"),
        part("write", '{"x"', index=1, id="b"),
        part(arguments='{"p', index=0),
        part(arguments=": 1}", index=1),
        part(arguments='": 2}', index=0),
    ) == [("read", '{"p": 2}'), ("write", '{"x": 1}')]


@pytest.mark.parametrize(
    "parts",
    [
        [part("f", "{}", id="a"), part("f", "[]", id="b")],
        [part("f", "{}"), part("f", "[]")],
        [part("f", "{}", index=0, id="a"), part("f", "[]", index=0, id="b")],
        [part("f", "{", index=0, id="a"), part("f", "}", index=0, id="a"), part("f", "[]", index=1, id="b")],
        [part("f", "{", index=0, id="a"), part(None, "}", index=0, id="zz"), part("f", "[]", index=1)],
        [part("f", "{", id="a"), part(None, "}"), part("f", "[]", id="b")],
    ],
    ids=["no index", "neither index nor id", "one index", "told again", "a new id each time", "pieces without index"],
)
def test_calls_are_told_apart_where_a_server_has_no_proper_index(parts: list[dict[str, Any]]) -> None:
    """A name with another id, or without any index, begins the next call."""
    assert called(*parts) == [("f", "{}"), ("f", "[]")]


def test_fields_that_we_do_not_know_are_kept() -> None:
    """Reasoning is joined like text, the signature of a call stays with it, and what is no text counts as it came
    last."""
    signed = {**part("f", "{}", index=0, id="a"), "extra_content": {"google": {"thought_signature": "s"}}}
    body = events(
        {"delta": {"reasoning_content": "I th", "score": 1}},
        {"delta": {"reasoning_content": "ink", "score": 2, "tool_calls": [signed]}},
        FINISH,
    )
    message = joined(body)["choices"][0]["message"]
    assert (message["reasoning_content"], message["score"]) == ("I think", 2)
    assert message["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "s"}}


def test_content_in_parts_is_joined() -> None:
    """Text among lists of parts is one more part."""
    body = events({"delta": {"content": [{"type": "text", "text": "a"}]}}, {"delta": {"content": "b"}}, FINISH)
    assert read(body).text == "ab"


def _read(body: bytes) -> ModelReply | None:
    try:
        return read(body)
    except MalformedReplyError:
        return None


def test_no_half_stream_is_taken_for_an_answer() -> None:
    """Cut behind any byte, a stream is either malformed or says all that it was to say."""
    body = events({"delta": {"content": "Do it"}}, {"delta": {"tool_calls": [part("f", '{"a": 1}', id="a")]}}, FINISH)
    whole = _read(body)
    assert whole is not None
    answers = [reply for end in range(len(body)) if (reply := _read(body[:end])) is not None]
    assert answers
    assert {(reply.text, reply.calls, reply.finish_reason) for reply in answers} == {
        (whole.text, whole.calls, whole.finish_reason)
    }


@pytest.mark.parametrize("event", ["[]", "7", '"text"', "{broken", '{"choices": [{"delta": {"tool_calls": [{}]}}]}'])
def test_an_event_that_is_no_chunk_is_malformed(event: str) -> None:
    """Whatever a server sends, only MalformedReplyError is raised."""
    assert _read(f"data: {event}\n\ndata: [DONE]\n\n".encode()) is None


def test_an_error_in_the_stream_is_judged_by_its_code() -> None:
    """It counts although half a reply came before it, which is no answer; what was begun counts as lost."""
    begun = {"choices": [{"index": 0, "delta": {"content": "Half"}}]}
    error = {"error": {"message": "Overloaded.", "code": 529}}
    told: list[str] = []
    with world({"fault": {"status": 200, "body": json.dumps(error)}}, OK) as w:
        assert w.chat.complete(HELLO, told.append).text == "Hi."
    merged = joined(events(begun, error, done=False))
    assert (merged["error"], bool(merged["choices"])) == (error["error"], True)


@pytest.mark.parametrize(
    "refused",
    [
        refusal("Unrecognized request argument supplied: stream_options"),
        refusal("stream is not supported", 422),
        refusal("Streaming is not supported with tools."),
        refusal("Your organization must be verified to stream this model.", param="stream", code="unsupported_value"),
    ],
    ids=["stream_options", "stream", "streaming", "not verified"],
)
def test_an_endpoint_that_refuses_streaming_is_asked_without_from_then_on(refused: dict[str, Any]) -> None:
    """The request goes out again at once without it, and so does every later one."""
    with world(refused, OK, OK) as w:
        assert [w.chat.complete(HELLO).retries, w.chat.complete(HELLO).retries] == [0, 0]
    assert [STREAMING.keys() <= request.keys() for request in w.model.requests] == [True, False, False]
    assert not STREAMING.keys() & w.model.requests[-1].keys()


def test_an_endpoint_that_answers_whole_is_not_asked_for_streams_again() -> None:
    """Its first answer counts as it is, without a second request; from then on the total deadline alone rules."""
    slow = {"text": "Hi.", "fault": {"drip": 1_000}}
    script = {"streams": False, "conversations": [{"replies": [OK, {**slow, "latency_ms": 400}]}]}
    with serve(script) as model:
        settings = ModelSettings(name="scripted", base_url=model.base_url, idle_timeout_s=0.2, timeout_s=30)
        chat = ModelChat(settings, clock=FixedClock(), env={})
        assert [chat.complete(HELLO).text, chat.complete(HELLO).text] == ["Hi.", "Hi."]
        chat.close()
    assert ["stream" in request for request in model.requests] == [True, False]


def test_a_connection_is_kept_between_streams() -> None:
    """A stream is read to its end, so that the next request needs no new connection."""
    with world(OK, OK, OK) as w:
        for _ in range(3):
            w.chat.complete(HELLO)
        assert w.model.open_exchanges == 1
