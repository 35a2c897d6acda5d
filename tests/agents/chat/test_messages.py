"""The wire of Messages: what a request holds, and what goes back of a reply. Shapes are those of the types of the
anthropic package 2.12, values written by us."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agents.chat.messages import Messages
from agents.chat.port import ChatRequest
from agents.chat.wire import RequestOptions
from agents.transcript import assistant_message
from orchestrator.domain.errors import ContextLengthError
from orchestrator.domain.model_io import ModelReply, ToolCall
from tests.support.chat_world import tool

OPTIONS = RequestOptions(
    model="claude",
    max_output_tokens=8_192,
    temperature=0.2,
    effort=None,
    reasoning_tokens=None,
    streams=False,
    json_object=False,
)
SYSTEM = {"role": "system", "content": "You work."}
TASK = {"role": "user", "content": "Task: t"}
NOTICE = {"role": "user", "content": "3 of 20 calls used."}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "Eq"}
HIDDEN = {"type": "redacted_thinking", "data": "Em"}
TOOLS = (tool("read_file"), tool("finish_task"))


def asked(*ids: str, **more: Any) -> list[dict[str, Any]]:
    """Calls as the API has them."""
    return [{"type": "tool_use", "id": each, "name": "read_file", "input": {"path": each}, **more} for each in ids]


def said(*blocks: Mapping[str, Any]) -> dict[str, Any]:
    """An assistant's message as it came."""
    return {"role": "assistant", "content": list(blocks)}


def result(call_id: str) -> dict[str, Any]:
    """What a call gave."""
    return {"role": "tool", "tool_call_id": call_id, "content": f"of {call_id}"}


def request(*messages: Mapping[str, Any], choice: str = "auto") -> ChatRequest:
    """A request of a conversation with these messages after the task, and a notice at the end."""
    return ChatRequest((SYSTEM, TASK, *messages, NOTICE), TOOLS, choice, passing=1)


def body(*messages: Mapping[str, Any], choice: str = "auto", **options: Any) -> dict[str, Any]:
    """The body of such a request."""
    return Messages().body(request(*messages, choice=choice), replace(OPTIONS, **options))


def came(*blocks: Mapping[str, Any], stop: str = "end_turn", **more: Any) -> ModelReply:
    """The reply that a message is."""
    return Messages().reply({"content": list(blocks), "stop_reason": stop, "model": "claude", **more})


def marks(sent: Mapping[str, Any]) -> list[Any]:
    """The texts and call ids of what is marked for the cache, in order."""
    blocks = [*sent.get("system", ()), *(block for message in sent["messages"] for block in message["content"])]
    return [block.get("text") or block.get("tool_use_id") for block in blocks if "cache_control" in block]


def test_a_request_is_told_in_blocks() -> None:
    """System apart, the results of one turn in one message right behind their calls, notices behind them; the tools by
    name, description and schema."""
    first, second = said(THOUGHT, HIDDEN, *asked("a", "b")), said({"type": "text", "text": "Now."}, *asked("c"))
    sent = body(first, result("a"), result("b"), second, result("c"), learnt=frozenset({"cache_control"}))
    assert sent["system"] == [{"type": "text", "text": "You work."}]
    assert [message["role"] for message in sent["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "user",
    ]
    assert sent["messages"][1] == first
    assert sent["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "of a"},
        {"type": "tool_result", "tool_use_id": "b", "content": "of b"},
    ]
    assert sent["messages"][5]["content"] == [{"type": "text", "text": "3 of 20 calls used."}]
    assert sent["max_tokens"] == 8_192
    assert sent["tools"][0] == {
        "name": "read_file",
        "description": "",
        "input_schema": {"type": "object", "properties": {}},
    }


def test_a_message_that_we_built_is_told_in_blocks_too() -> None:
    """Text and calls with their arguments as objects, whatever they were; nothing is empty."""
    calls = (
        ToolCall(call_id="a", tool="read_file", arguments_json='{"path": 1}'),
        ToolCall(call_id="b", tool="read_file", arguments_json="[broken"),
    )
    sent = body(assistant_message("", calls), result("a"), {**result("b"), "content": ""}, assistant_message("", ()))
    assert sent["messages"][1]["content"] == [
        {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": 1}},
        {"type": "tool_use", "id": "b", "name": "read_file", "input": {"unreadable": "[broken"}},
    ]
    assert all(result["content"].strip() for result in sent["messages"][2]["content"])
    assert sent["messages"][3]["content"][0]["text"].strip()


def test_marks_stand_at_the_edges_that_stay() -> None:
    """The end of tools and system, the end of the opening, the newest message that stays and what was that a reply ago:
    never more than four, never on the notice or on what the model said."""
    assert marks(body()) == ["You work.", "Task: t"]
    turns = [message for each in "abc" for message in (said(*asked(each)), result(each))]
    assert marks(body(*turns[:2])) == ["You work.", "Task: t", "a"]
    assert marks(body(*turns)) == ["You work.", "Task: t", "b", "c"]
    assert marks(body(*turns, said({"type": "text", "text": "Done?"}))) == ["You work.", "Task: t", "c"]
    assert marks(body(*turns, learnt=frozenset({"cache_control"}))) == []


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("finish_task", {"type": "tool", "name": "finish_task"}),
    ],
)
def test_a_tool_choice_is_told_unless_the_model_thinks(choice: str, sent: Mapping[str, Any]) -> None:
    """The API refuses to force a call on a model that thinks: it is left free then."""
    assert body(choice=choice)["tool_choice"] == sent
    free = {"type": "none" if choice == "none" else "auto"}
    for options in ({"effort": "low"}, {"reasoning_tokens": 2_000}, {"learnt": frozenset({"tool_choice"})}):
        assert body(choice=choice, **options)["tool_choice"] == free
    assert body(choice=choice, effort="none")["tool_choice"] == sent


@pytest.mark.parametrize(
    ("options", "thinking", "effort"),
    [
        ({}, None, None),
        ({"effort": "high"}, {"type": "adaptive"}, "high"),
        ({"effort": "minimal"}, {"type": "adaptive"}, "low"),
        ({"effort": "none"}, {"type": "disabled"}, None),
        ({"effort": "high", "learnt": {"thinking"}}, None, "high"),
        ({"effort": "high", "learnt": {"output_config"}}, {"type": "adaptive"}, None),
        ({"reasoning_tokens": 4_000}, {"type": "enabled", "budget_tokens": 4_000}, None),
        ({"reasoning_tokens": 10}, {"type": "enabled", "budget_tokens": 1_024}, None),
        ({"reasoning_tokens": 100_000}, {"type": "enabled", "budget_tokens": 7_168}, None),
        ({"reasoning_tokens": 4_000, "max_output_tokens": 2_000}, None, None),
        ({"reasoning_tokens": 4_000, "effort": "max"}, {"type": "enabled", "budget_tokens": 4_000}, "max"),
        ({"reasoning_tokens": 4_000, "learnt": {"thinking"}}, {"type": "adaptive"}, None),
    ],
)
def test_reasoning_is_asked_for_as_the_api_has_it(
    options: Mapping[str, Any], thinking: Mapping[str, Any] | None, effort: str | None
) -> None:
    """A budget is at least what the API takes and leaves room for an answer; where it is refused the model decides by
    itself. A temperature is sent only where the model does not think."""
    sent = body(**{**options, "learnt": frozenset(options.get("learnt", ()))})
    assert sent.get("thinking") == thinking
    assert sent.get("output_config") == ({"effort": effort} if effort else None)
    thinks = thinking is not None and thinking["type"] != "disabled"
    assert sent.get("temperature") == (None if thinks else 0.2)


def test_a_budget_is_left_out_behind_calls_that_were_made_without_thinking() -> None:
    """The API would miss the thinking before them, and refuse the request."""
    built = assistant_message("", (ToolCall(call_id="a", tool="read_file", arguments_json="{}"),))
    assert "thinking" not in body(built, result("a"), reasoning_tokens=2_000)
    for thought in (THOUGHT, HIDDEN):
        assert "thinking" in body(said(thought, *asked("a")), result("a"), reasoning_tokens=2_000)
    assert "thinking" in body(said({"type": "text", "text": "Hi."}), TASK, reasoning_tokens=2_000)
    assert "thinking" in body(built, result("a"), effort="low")


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "pause"),
        ("refusal", "refusal"),
        ("of tomorrow", "stop"),
        (["?"], "stop"),
    ],
)
def test_why_a_reply_ended_is_told_in_our_words(stop: Any, finish: str) -> None:
    """Every reason of the API's has one of ours."""
    assert came({"type": "text", "text": "Hm."}, stop=stop).finish_reason == finish
    assert came(*asked("a"), stop="tool_use").finish_reason == "tool_calls"


def test_a_window_that_is_full_before_a_word_was_said_must_shrink() -> None:
    """It is no cut reply: the request was too long, and so would be the next."""
    with pytest.raises(ContextLengthError, match="context_window"):
        came(THOUGHT, stop="model_context_window_exceeded")


def test_a_refusal_says_why() -> None:
    """In the provider's words, where it has no text."""
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
    reply = came(stop="refusal", stop_details=details)
    assert (reply.finish_reason, reply.text) == ("refusal", "Not this.")


def test_what_came_goes_back_as_it_came() -> None:
    """Thinking, signatures, blocks and fields that we do not know, in their order."""
    unknown = {"type": "block_of_tomorrow", "seal": "x"}
    blocks: list[dict[str, Any]] = [
        THOUGHT,
        unknown,
        {"type": "text", "text": "I read.", "citations": None},
        *asked("a", caller={"type": "d"}),
    ]
    reply = came(*blocks, stop="tool_use")
    assert Messages().said(reply) == {"role": "assistant", "content": blocks}
    assert body(Messages().said(reply), result("a"))["messages"][1]["content"] == blocks


def test_calls_go_back_as_they_are_known_here() -> None:
    """An id that came twice, an input that is no object, a name that nobody can send: the rest of a call stays."""
    blocks = [
        THOUGHT,
        *asked("a", "a", caller={"type": "d"}),
        {"type": "tool_use", "id": "b", "name": "x y", "input": "{"},
    ]
    reply = came(*blocks)
    assert [call.call_id for call in reply.calls][::2] == ["a", "b"]
    assert reply.calls[1].call_id not in ("a", "b")
    known = [
        replace(call, call_id=call_id, tool=call.tool.replace(" ", "_"), arguments_json=written)
        for call, call_id, written in zip(
            reply.calls, ["a", "a_2", "b"], ['{"path": "a"}'] * 2 + ['{"u": 1}'], strict=True
        )
    ]
    first, second, third = Messages().said(replace(reply, calls=tuple(known)))["content"][1:]
    assert first is blocks[1]
    assert (second["id"], second["input"], second["caller"]) == ("a_2", {"path": "a"}, {"type": "d"})
    assert (third["id"], third["name"], third["input"]) == ("b", "x_y", {"u": 1})


def test_nothing_goes_back_that_the_api_sends_and_refuses() -> None:
    """Empty texts, and calls of a reply that does not count, which nobody answers."""
    blank = {"type": "text", "text": " \n"}
    reply = came(THOUGHT, blank, {"type": "text", "text": "No."}, *asked("a"), stop="refusal")
    assert Messages().said(replace(reply, calls=()))["content"] == [THOUGHT, {"type": "text", "text": "No."}]
    assert Messages().said(came(blank))["content"][0]["text"].strip()


@pytest.mark.parametrize(
    "usage",
    [
        None,
        "x",
        {},
        {"input_tokens": 5},
        {"input_tokens": -1, "output_tokens": 2},
        {"input_tokens": 0, "output_tokens": 2},
        {"input_tokens": 5, "output_tokens": 10**12},
        {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": -7},
        {"input_tokens": 5, "output_tokens": 2, "cache_creation_input_tokens": True},
        {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": "9"},
    ],
)
def test_counts_that_cannot_be_make_an_estimate(usage: Any) -> None:
    """One that is missing, negative or absurd spoils all."""
    assert came({"type": "text", "text": "Hi."}, usage=usage).estimated


def test_an_input_that_is_nested_too_deep_is_no_input() -> None:
    """It is told as one that cannot be read, and breaks nothing."""
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    reply = came({"type": "tool_use", "id": "a", "name": "read_file", "input": deep})
    with pytest.raises(ValueError):
        json.loads(reply.calls[0].arguments_json)
    known = replace(reply.calls[0], arguments_json='{"unreadable": "x"}')
    assert Messages().said(replace(reply, calls=(known,)))["content"][0]["input"] == {"unreadable": "x"}
