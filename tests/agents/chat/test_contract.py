"""What the port Chat promises, over every wire, of replies that come whole and of streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pytest

from agents.chat.port import ChatRequest, Message
from agents.chat.wires import WIRES
from orchestrator.domain.errors import ModelRefusedError, ReplyLostError
from orchestrator.domain.model_io import ModelReply
from tests.support.chat_world import HELLO, World, refusal, tool, world

OK = {"text": "Hi."}
TOOLS = [tool("f"), tool("g")]
Open = Callable[..., AbstractContextManager[World]]


@pytest.fixture(params=[(api, streams) for api in WIRES for streams in (True, False)], ids=str)
def line(request: pytest.FixtureRequest) -> Open:
    """Opens a world whose chat speaks one of the wires, to a model that streams or does not."""
    api, streams = request.param
    return partial(world, api=api, script={"streams": streams, "apis": [api]}, max_output_tokens=4_096)


def after(w: World, reply: ModelReply, said: Message | None = None) -> ChatRequest:
    """The request that follows a reply, with a result for every call."""
    results = [
        {"role": "tool", "tool_call_id": call.call_id, "content": f"done {call.call_id}"} for call in reply.calls
    ]
    return ChatRequest([*HELLO.messages, said or w.chat.said(reply), *results], TOOLS)


def calls_of(reply: ModelReply) -> list[tuple[str, str]]:
    """Names and arguments."""
    return [(call.tool, call.arguments_json) for call in reply.calls]


def test_a_text(line: Open) -> None:
    """Text, end, model and usage; of a stream the text is told piece by piece."""
    with line(OK) as w:
        told: list[str] = []
        reply = w.chat.complete(HELLO, on_text=told.append)
        assert told == (["H", "i."] if w.model.script.streams else [])
    assert (reply.text, reply.calls, reply.finish_reason, reply.model) == ("Hi.", (), "stop", "scripted")
    assert (reply.estimated, reply.retries, reply.prompt_tokens > 0, reply.completion_tokens > 0) == (
        False,
        0,
        True,
        True,
    )


def test_one_call_and_its_result(line: Open) -> None:
    """A call comes with its arguments; its pair goes back, and the endpoint's cache knows what it had seen."""
    with line({"call": ["f", {"a": "ü", "b": [1, None]}]}, OK) as w:
        first = w.chat.complete(ChatRequest(HELLO.messages, TOOLS, "required"))
        second = w.chat.complete(after(w, first))
    (call,) = first.calls
    assert (call.tool, json.loads(call.arguments_json)) == ("f", {"a": "ü", "b": [1, None]})
    assert (first.text, first.finish_reason) == ("", "tool_calls")
    assert (second.text, second.cached_tokens) == ("Hi.", first.prompt_tokens)


def test_ten_calls_of_which_two_share_an_id(line: Open) -> None:
    """Each has an id of its own, under which its result goes back."""
    calls = [{"tool": "f", "arguments": {"n": n}, "id": f"same_{min(n, 8)}"} for n in range(10)]
    with line({"calls": calls}, OK) as w:
        reply = w.chat.complete(ChatRequest(HELLO.messages, TOOLS))
        assert [arguments for _, arguments in calls_of(reply)] == [f'{{"n": {n}}}' for n in range(10)]
        assert len({call.call_id for call in reply.calls}) == 10
        assert w.chat.complete(after(w, reply)).text == "Hi."


MIXED = {"reasoning": "I think.", "text": "Look.", "calls": [["f", {}], ["g", {"a": 1}]]}


def test_text_reasoning_and_calls_in_one_reply(line: Open) -> None:
    """All of it is read; what came goes back as it came, and the provider, who checks that, takes it."""
    with line(MIXED, OK) as w:
        reply = w.chat.complete(ChatRequest(HELLO.messages, TOOLS))
        assert (reply.text, calls_of(reply)) == ("Look.", [("f", "{}"), ("g", '{"a": 1}')])
        assert (reply.finish_reason, reply.reasoning_tokens) == ("tool_calls", 2)
        assert w.chat.said(reply) == reply.message
        assert w.chat.complete(after(w, reply)).text == "Hi."


def altered(value: Any) -> Any:
    """A message whose signatures are others; all else as it was."""
    if isinstance(value, list | tuple):
        return [altered(item) for item in value]
    if not isinstance(value, dict):
        return value
    signed = ("encrypted_content", "signature", "thought_signature")
    return {name: "AAAA" if name in signed else altered(item) for name, item in value.items()}


def test_a_signature_that_is_refused_ends_the_request(line: Open) -> None:
    """It is said, and not tried again."""
    with line(MIXED, OK) as w:
        reply = w.chat.complete(ChatRequest(HELLO.messages, TOOLS))
        with pytest.raises(ModelRefusedError, match=r"(?i)signature|could not be verified"):
            w.chat.complete(after(w, reply, altered(w.chat.said(reply))))
        assert (len(w.model.requests), w.clock.slept) == (2, [])


def test_calls_that_nobody_answers_do_not_go_back(line: Open) -> None:
    """Those of a reply that was declined: its text alone stays in the conversation."""
    with line(MIXED, OK) as w:
        reply = w.chat.complete(ChatRequest(HELLO.messages, TOOLS))
        declined = ModelReply(text=reply.text, finish_reason="refusal", model="m", message=reply.message)
        more = [w.chat.said(declined), {"role": "user", "content": "Go on."}]
        assert w.chat.complete(ChatRequest([*HELLO.messages, *more], TOOLS)).text == "Hi."


@pytest.mark.parametrize("finish", ["length", "refusal"])
def test_how_a_text_ended(line: Open, finish: str) -> None:
    """Cut or declined, in the words of every API."""
    with line({"text": "Half", "finish_reason": finish}) as w:
        reply = w.chat.complete(HELLO)
    assert (reply.text, reply.finish_reason) == ("Half", finish)


@pytest.mark.parametrize("reply", [{**OK, "fault": {"cut": True}}, {"fault": {"close": True}}], ids=["cut", "closed"])
def test_a_lost_reply_is_told_and_asked_for_again(line: Open, reply: dict[str, Any]) -> None:
    """Half of one is none, of a stream too."""
    lost: list[str] = []
    with line(reply, OK) as w:
        assert (w.chat.complete(HELLO, lost.append).text, len(lost)) == ("Hi.", 1)


def test_a_silence_is_given_up_at_its_deadline(line: Open) -> None:
    """No byte for as long as a whole reply may take."""
    with line({"fault": {"hang_s": 60}}, retries=0, timeout_s=0.3) as w, pytest.raises(ReplyLostError, match=r"0\.3 s"):
        w.chat.complete(HELLO)


def test_fields_that_an_endpoint_refuses_are_sent_otherwise(line: Open) -> None:
    """Temperature goes, the tool choice becomes auto, and a stream is not asked for again."""
    refusals = [
        refusal("temperature is not supported with this model."),
        refusal("tool_choice 'required' is not supported by this model."),
        refusal("stream is not supported by this model."),
    ]
    with line(*refusals, OK) as w:
        assert w.chat.complete(ChatRequest(HELLO.messages, TOOLS, "required")).text == "Hi."
    last = w.model.requests[-1]
    assert last["tool_choice"] in ("auto", {"type": "auto"})
    assert not {"temperature", "stream"} & last.keys()


USAGES = {"negative": (-5, -1), "absurd": (10**12, 10**12), "nothing": (0, 0), "more than a window": (10**6, 50)}


@pytest.mark.parametrize(
    "fault", [{"no_usage": True}, *({"usage": told} for told in USAGES.values())], ids=["none", *USAGES]
)
def test_usage_that_cannot_be_is_estimated(line: Open, fault: dict[str, Any]) -> None:
    """Missing, or no number of tokens that this request can have."""
    with line({**OK, "fault": fault}) as w:
        reply = w.chat.complete(HELLO)
        assert (reply.estimated, reply.prompt_tokens) == (True, w.chat.estimate(HELLO.messages))
    assert (reply.cached_tokens, reply.cache_write_tokens, reply.reasoning_tokens) == (0, 0, 0)
    assert 0 < reply.completion_tokens < 100


def test_an_endpoint_without_tool_calls(line: Open) -> None:
    """Calls come as text and go back so; a text without calls goes back as it came."""
    said = {"text": '{"tool": "f", "arguments": {"a": 1}}'}
    with line(said, {**OK, "reasoning": True}, OK, tools="json") as w:
        first = w.chat.complete(ChatRequest(HELLO.messages, TOOLS))
        assert calls_of(first) == [("f", '{"a": 1}')]
        second = w.chat.complete(ChatRequest([*HELLO.messages, {"role": "user", "content": "Go on."}], TOOLS))
        assert w.chat.complete(after(w, second)).text == "Hi."
    assert all("tools" not in request for request in w.model.requests)


def test_an_endpoint_that_has_not_the_wire_refuses(line: Open) -> None:
    """Where the settings name one, no other is tried."""
    with line(OK, script={"apis": []}) as w, pytest.raises(ModelRefusedError, match="HTTP 404"):
        w.chat.complete(HELLO)
