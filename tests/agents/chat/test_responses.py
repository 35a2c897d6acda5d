"""The wire of Responses: what is sent, what comes whole, what goes back."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.chat.estimate import Estimator
from agents.chat.failures import MalformedReplyError
from agents.chat.port import ChatRequest, Message
from agents.chat.responses import Responses
from agents.chat.wire import RequestOptions
from agents.transcript import assistant_message
from orchestrator.domain.model_io import ModelReply, ToolCall
from tests.support.chat_world import HELLO, refusal, tool, world
from tests.support.responses_shapes import CALL, REASONING, SAID, SEARCH, WHOLE, ended, item_done, response

WIRE = Responses()


def options(**changed: Any) -> RequestOptions:
    """What a request says beside its messages."""
    usual: dict[str, Any] = {"model": "m", "max_output_tokens": 99, "temperature": 0.2, "effort": "low"}
    usual |= {"reasoning_tokens": None, "streams": True, "json_object": False}
    return RequestOptions(**usual | changed)


def sent(*messages: Message) -> list[Any]:
    """The input items that messages become."""
    return list(WIRE.body(ChatRequest(messages), options())["input"])


def test_a_request_is_in_the_form_of_responses() -> None:
    """Instructions and input come first; tools are flat and not strict; nothing is kept at the provider."""
    body = WIRE.body(ChatRequest(HELLO.messages, [tool("f")], "f"), options())
    assert list(body.items()) == [
        ("model", "m"),
        ("instructions", "Be brief."),
        ("input", [{"role": "user", "content": "Hello"}]),
        ("tools", [{"type": "function", "strict": False, **tool("f")["function"]}]),
        ("tool_choice", {"type": "function", "name": "f"}),
        ("store", False),
        ("include", ["reasoning.encrypted_content"]),
        ("max_output_tokens", 99),
        ("temperature", 0.2),
        ("reasoning", {"effort": "low"}),
        ("stream", True),
    ]


@pytest.mark.parametrize(
    ("choice", "learnt", "told"),
    [("auto", "", "auto"), ("none", "", "none"), ("required", "", "required"), ("required", "tool_choice", "auto")],
)
def test_tool_choices(choice: str, learnt: str, told: str) -> None:
    """The API's own words, and auto for an endpoint that knows no others."""
    made = options(learnt=frozenset({learnt}))
    assert WIRE.body(ChatRequest(HELLO.messages, [tool("f")], choice), made)["tool_choice"] == told


def test_what_an_endpoint_refused_is_left_out() -> None:
    """Every field beside model, input and tools can do without."""
    fields = frozenset({"store", "include", "max_output_tokens", "temperature", "reasoning", "stream"})
    body = WIRE.body(ChatRequest(HELLO.messages), options(learnt=fields))
    assert body.keys() == {"model", "instructions", "input"}


@pytest.mark.parametrize(
    ("field", "refused"),
    [
        ("include", refusal("Encrypted content is not supported with this model.", param="include")),
        ("include", refusal("Encrypted content is not supported with this model.")),
        ("reasoning", refusal("Unsupported parameter: 'reasoning.effort' is not supported with this model.")),
        ("max_output_tokens", refusal("Unsupported parameter: max_output_tokens")),
        ("store", refusal("Unknown parameter: 'store'.", param="store")),
        ("text", refusal("Invalid value: 'text.format' is not supported.", param="text.format")),
    ],
)
def test_a_field_that_is_refused_is_not_sent_again(field: str, refused: Mapping[str, Any]) -> None:
    """The request goes out again at once, and every later one, without it."""
    with world(refused, {"text": "{}"}, {"text": "{}"}, api="responses", effort="low", tools="json") as w:
        for _ in range(2):
            assert w.chat.complete(ChatRequest(HELLO.messages, [tool("f")])).text == "{}"
    assert [field in request for request in w.model.requests] == [True, False, False]


def test_a_json_object_is_asked_for_by_text_format() -> None:
    """Then the system text stands in the input: the API wants to find the word JSON there."""
    body = WIRE.body(ChatRequest(HELLO.messages), options(json_object=True))
    assert body["text"] == {"format": {"type": "json_object"}}
    assert "instructions" not in body
    assert body["input"] == HELLO.messages


def test_messages_of_ours_become_items() -> None:
    """Also those that stand for a reply of which nothing came that could go back."""
    call = ToolCall(call_id="c1", tool="f", arguments_json='{"a": 1}')
    result: Message = {"role": "tool", "tool_call_id": "c1", "content": "done"}
    assert sent(assistant_message("I look.", [call]), result, assistant_message("", ())) == [
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
        {"role": "assistant", "content": "(empty reply)"},
    ]


def test_a_reply_is_read_whole() -> None:
    """Text, call and usage, of which the cache's and the reasoning's parts are told."""
    reply = WIRE.reply(response(REASONING, SAID, CALL, SEARCH))
    assert (reply.text, reply.finish_reason, reply.model, reply.estimated) == ("I look.", "tool_calls", "m", False)
    assert [(call.call_id, call.tool, call.arguments_json) for call in reply.calls] == [("c1", "f", "{}")]
    assert (reply.prompt_tokens, reply.cached_tokens, reply.cache_write_tokens) == (70, 40, 20)
    assert (reply.completion_tokens, reply.reasoning_tokens) == (30, 10)


def test_what_came_goes_back_as_it_came() -> None:
    """Items and fields that we do not know too, in their order."""
    reply = WIRE.reply(response(REASONING, SAID, SEARCH, CALL))
    assert WIRE.said(reply) is reply.message
    assert sent(WIRE.said(reply)) == [REASONING, SAID, SEARCH, CALL]


def test_of_a_call_only_what_is_ours_is_changed() -> None:
    """Another id or readable arguments; all other fields and items stay."""
    reply = WIRE.reply(response(REASONING, CALL, {**CALL, "id": "fc_2", "arguments": "{broken", "x-own": 1}))
    calls = (reply.calls[0], ToolCall(call_id="c1_2", tool="f", arguments_json="{}"))
    known = ModelReply(text="", calls=calls, finish_reason="tool_calls", model="m", message=reply.message)
    assert sent(WIRE.said(known)) == [REASONING, CALL, {**CALL, "id": "fc_2", "call_id": "c1_2", "x-own": 1}]


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        ([SAID, REASONING], [SAID]),
        ([REASONING, SAID, REASONING, REASONING], [REASONING, SAID]),
        ([{**REASONING, "encrypted_content": None}, SAID], [{name: SAID[name] for name in SAID if name != "id"}]),
        ([{"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "Hm."}]}, SAID], None),
    ],
    ids=["alone", "two alone", "an id alone", "open"],
)
def test_reasoning_that_would_be_refused_stays_out(output: list[dict[str, Any]], kept: list[Any] | None) -> None:
    """Nothing follows it; or only its id came, which is looked for in vain where nothing is kept. That of open models
    is text, and can be read."""
    assert sent(WIRE.said(WIRE.reply(response(*output)))) == (output if kept is None else kept)


def test_calls_that_do_not_count_do_not_go_back() -> None:
    """A declined reply's calls have no results, which the API would ask for."""
    reply = WIRE.reply(response(SAID, REASONING, CALL))
    declined = ModelReply(text=reply.text, finish_reason="content_filter", model="m", message=reply.message)
    assert sent(WIRE.said(declined)) == [SAID]


@pytest.mark.parametrize(
    ("answer", "finish", "text"),
    [
        (response(SAID, status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "length", "I look."),
        (response(REASONING, status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "length", ""),
        (response(status="incomplete"), "length", ""),
        (
            response(SAID, status="incomplete", incomplete_details={"reason": "content_filter"}),
            "content_filter",
            "I look.",
        ),
        (response({**SAID, "content": [{"type": "refusal", "refusal": "No."}]}), "refusal", "No."),
        (response({**SAID, "content": [{"type": "output_text", "text": "a"}, {"type": "output_text"}]}), "stop", "a"),
        (response(SAID, SAID), "stop", "I look.\n\nI look."),
    ],
)
def test_how_a_reply_ended(answer: dict[str, Any], finish: str, text: str) -> None:
    """Cut, filtered, refused or whole."""
    reply = WIRE.reply(answer)
    assert (reply.finish_reason, reply.text) == (finish, text)


@pytest.mark.parametrize(
    "answer",
    [{}, {"output": "text"}, response(), response(SAID, status="queued"), response(SAID, status={"a": 1})],
    ids=["nothing", "text", "empty", "queued", "no status"],
)
def test_what_is_no_response_is_malformed(answer: dict[str, Any]) -> None:
    """Only MalformedReplyError is raised."""
    with pytest.raises(MalformedReplyError):
        WIRE.reply(answer)


@pytest.mark.parametrize("odd", [None, 7, "text", ["text", 7, None], {"a": 1}, [{"type": 7}, {"type": None}]])
def test_odd_values_raise_nothing(odd: Any) -> None:
    """Wherever they stand."""
    parts = [
        {**SAID, "content": odd},
        {**CALL, "call_id": odd, "name": odd, "arguments": odd},
        {**REASONING, "id": odd},
    ]
    reply = WIRE.reply(response(*parts, SAID, usage=odd, incomplete_details=odd, model=odd))
    assert (len(reply.calls), reply.estimated) == (1, True)
    WIRE.body(ChatRequest([WIRE.said(reply)]), options())
    Estimator().request([WIRE.said(reply)])
    events = [
        {"type": odd, "delta": odd, "item": odd},
        item_done({**REASONING, "id": odd}),
        {**ended(WHOLE), "response": odd},
    ]
    assert (bool(WIRE.joined(events)), [WIRE.text(event) for event in events]) == (True, ["", "", ""])


NAMES = [
    "type",
    "status",
    "output",
    "id",
    "call_id",
    "name",
    "arguments",
    "content",
    "text",
    "item",
    "response",
    "usage",
    "error",
    "delta",
    "reason",
]
KINDS = ("message", "function_call", "reasoning", "response.completed", "response.output_item.done", "incomplete")
TOP = st.sampled_from(("output", "status", "usage", "model", "incomplete_details"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(KINDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TOP, JSON), st.lists(JSON))
def test_any_json_is_a_response_or_malformed(answer: dict[str, Any], told: list[Any]) -> None:
    """Whole or as events: nothing but MalformedReplyError is raised, and what was read can go back."""
    events = [event for event in told if isinstance(event, dict)]
    with suppress(MalformedReplyError):
        reply = WIRE.reply(answer)
        WIRE.body(ChatRequest([WIRE.said(reply)]), options())
    with suppress(MalformedReplyError):
        WIRE.reply(WIRE.joined(events))
    assert all(isinstance(WIRE.text(event), str) and WIRE.ends(event) in (True, False) for event in events)
