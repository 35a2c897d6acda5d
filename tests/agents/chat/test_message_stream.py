"""Streamed messages of the Messages API. The events' shapes are those of the types of the anthropic package 2.12
(RawMessageStreamEvent and what it is made of), with what they tell written by us."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agents.chat.failures import MalformedReplyError
from agents.chat.messages import Messages
from agents.chat.sse import SseReader
from orchestrator.domain.model_io import ModelReply

THOUGHT = {"type": "thinking", "thinking": "Look first.", "signature": "EqQBCg"}
HIDDEN = {"type": "redacted_thinking", "data": "EmwKAh"}
CITED = {"type": "char_location", "cited_text": "x", "document_index": 0}
SAID = {"type": "text", "text": "I look.", "citations": [CITED]}
ASKED = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "ä\u2028"}}
SERVED = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
WHOLE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [THOUGHT, HIDDEN, SAID, SERVED, ASKED],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 10,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 30,
        "output_tokens": 40,
        "output_tokens_details": {"thinking_tokens": 25},
    },
}


def started(index: int, **block: Any) -> dict[str, Any]:
    """How a block begins."""
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int, kind: str, **told: Any) -> dict[str, Any]:
    """A piece of a block."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **told}}


BEGUN = {
    "type": "message_start",
    "message": {**WHOLE, "content": [], "stop_reason": None, "usage": {"input_tokens": 10, "output_tokens": 1}},
}
EVENTS: list[dict[str, Any]] = [
    BEGUN,
    {"type": "ping"},
    started(0, type="thinking", thinking="", signature=""),
    piece(0, "thinking_delta", thinking="Look "),
    piece(0, "thinking_delta", thinking="first."),
    piece(0, "signature_delta", signature="EqQBCg"),
    {"type": "content_block_stop", "index": 0},
    started(1, **HIDDEN),
    {"type": "content_block_stop", "index": 1},
    started(2, type="text", text="", citations=None),
    piece(2, "text_delta", text="I "),
    piece(2, "citations_delta", citation=CITED),
    piece(2, "text_delta", text="look."),
    piece(2, "some_new_delta", novelty={"x": 1}),
    {"type": "content_block_stop", "index": 2},
    started(3, type="server_tool_use", id="srvtoolu_1", name="web_search", input={}),
    piece(3, "input_json_delta", partial_json='{"query": "q"}'),
    {"type": "content_block_stop", "index": 3},
    started(4, type="tool_use", id="toolu_1", name="read_file", input={}),
    piece(4, "input_json_delta", partial_json=""),
    piece(4, "input_json_delta", partial_json='{"path": "ä'),
    piece(4, "input_json_delta", partial_json='\u2028"}'),
    {"type": "content_block_stop", "index": 4},
    {"type": "an_event_of_tomorrow", "index": 9},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {**WHOLE["usage"], "input_tokens": None},  # type: ignore[dict-item]
    },
    {"type": "message_stop"},
]


def stream(*events: Mapping[str, Any]) -> bytes:
    """The events as they are sent, each with its name."""
    return b"".join(
        f"event: {each['type']}\ndata: {json.dumps(each, ensure_ascii=False)}\n\n".encode() for each in events
    )


def joined(body: bytes) -> Mapping[str, Any]:
    """What a stream makes."""
    reader = SseReader()
    return Messages().joined([*reader.feed(body), *reader.end()])


def read(body: bytes) -> ModelReply | None:
    """The reply that a stream is; None where it is malformed."""
    try:
        return Messages().reply(joined(body))
    except MalformedReplyError:
        return None


def test_a_stream_makes_the_message_that_would_have_come_whole() -> None:
    """Thinking with its signature, hidden thinking, citations, what a server's own tool was asked, and the usage; what
    we do not know is passed over."""
    told = {**joined(stream(*EVENTS))}
    assert told == {name: value for name, value in WHOLE.items() if value is not None}
    assert Messages().reply(told) == Messages().reply(WHOLE)


def test_a_streamed_reply_counts_what_it_used() -> None:
    """The prompt is what was read, what was written and what stood beside the cache; thinking is part of the output."""
    reply = read(stream(*EVENTS))
    assert reply is not None
    assert (reply.prompt_tokens, reply.cached_tokens, reply.cache_write_tokens) == (140, 100, 30)
    assert (reply.completion_tokens, reply.reasoning_tokens, reply.estimated) == (40, 25, False)


def test_no_half_stream_is_taken_for_an_answer() -> None:
    """Cut behind any byte, a stream is either malformed or says all that it was to say."""
    body = stream(*EVENTS)
    whole = read(body)
    assert whole is not None
    answers = [reply for end in range(len(body)) if (reply := read(body[:end])) is not None]
    assert answers
    assert {(each.text, each.calls, each.finish_reason) for each in answers} == {
        (whole.text, whole.calls, whole.finish_reason)
    }
    assert all(each.message == whole.message for each in answers)


def test_a_call_that_was_cut_is_told_as_far_as_it_came() -> None:
    """Its arguments are no JSON, which the toolbox says; what goes back is an object all the same."""
    cut = {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}}
    reply = read(stream(*EVENTS[:21], cut, {"type": "message_stop"}))
    assert reply is not None
    assert (reply.finish_reason, reply.calls[0].arguments_json) == ("length", '{"path": "ä')


@pytest.mark.parametrize(
    "events",
    [
        [*EVENTS[1:]],
        [{"type": "message_stop"}],
        [BEGUN, piece(0, "text_delta", text="Hi."), *EVENTS[-2:]],
        [BEGUN, {"type": "content_block_start", "content_block": SAID}, *EVENTS[-2:]],
        [BEGUN, {"type": "content_block_start", "index": 0, "content_block": "x"}, *EVENTS[-2:]],
        [BEGUN, started(0, **SAID), {"type": "content_block_delta", "index": 0, "delta": []}, *EVENTS[-2:]],
        [{"type": "message_start", "message": {**WHOLE, "content": [SAID]}}],
        [BEGUN, {"type": "message_delta", "usage": {}}],
        [BEGUN],
    ],
    ids=[
        "no start",
        "end alone",
        "no block",
        "no index",
        "no object",
        "no piece",
        "ended from the start",
        "no delta",
        "",
    ],
)
def test_events_that_make_no_message_are_malformed(events: list[Mapping[str, Any]]) -> None:
    """Whatever a server sends, only MalformedReplyError is raised."""
    assert read(stream(*events)) is None


@pytest.mark.parametrize("wrong", [7, "x", None, [], {"a": {"b": []}}])
def test_no_field_of_a_wrong_kind_breaks_the_reading(wrong: Any) -> None:
    """Every value of every event may be anything: what comes is a reply or malformed."""
    for number, event in enumerate(EVENTS):
        for name, value in event.items():
            spoilt = [{**event, name: wrong}]
            if isinstance(value, dict):
                spoilt += [{**event, name: {**value, inner: wrong}} for inner in value]
            for each in spoilt:
                read(b"".join(_data(other) for other in [*EVENTS[:number], each, *EVENTS[number + 1 :]]))


def _data(event: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()


def test_an_error_counts_although_half_a_message_came_before_it() -> None:
    """What was begun is told with it: it may have cost something."""
    failed = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    told = joined(stream(*EVENTS[:9], failed))
    assert (told["error"], len(told["content"])) == (failed["error"], 2)
    assert joined(stream({"type": "error"}))["error"]


def test_text_is_heard_piece_by_piece() -> None:
    """Of a text block alone: thinking and inputs are no text."""
    assert [piece for event in EVENTS if (piece := Messages().text(event))] == ["I ", "look."]
    assert [Messages().ends(event) for event in EVENTS].index(True) == len(EVENTS) - 1
    assert Messages().ends({"type": "error", "error": {}})


def test_a_call_within_which_the_reply_was_cut_is_no_call_that_can_be_executed() -> None:
    """The API gives what there was of its input as an object, and half a file would pass for a whole one: the input is
    no JSON then, so that the call is answered as cut off. Calls before it are whole."""
    first, last = ({"type": "tool_use", "id": n, "name": "write_file", "input": {"path": n}} for n in ("a", "b"))
    answer = {"content": [first, last], "stop_reason": "max_tokens"}
    calls = Messages().reply(answer).calls
    assert json.loads(calls[0].arguments_json) == {"path": "a"}
    with pytest.raises(ValueError, match="Extra data"):
        json.loads(calls[1].arguments_json)
    whole = Messages().reply({**answer, "stop_reason": "tool_use"}).calls
    assert [json.loads(call.arguments_json) for call in whole] == [{"path": "a"}, {"path": "b"}]
