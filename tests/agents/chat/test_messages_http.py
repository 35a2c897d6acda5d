"""Messages over HTTP: the scripted model checks what the provider checks, in the provider's words; errors are judged by
what they mean. Error bodies are shaped as the API's documentation has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agents.chat.model_chat import ModelChat
from agents.chat.port import ChatRequest, Message
from agents.scripted.conversations import Conversations
from agents.scripted.messages_form import MessagesForm
from agents.scripted.script import load_script
from agents.scripted.signatures import sealed
from agents.transcript import assistant_message
from orchestrator.domain.errors import ContextLengthError, ModelRefusedError, ModelUnavailableError
from orchestrator.domain.model_io import ModelReply
from tests.support.chat_world import HELLO, tool, world

OK = {"text": "Hi."}
READ = {"reasoning": "I look first.", "text": "Reading.", "call": ["read_file", {"path": "a"}]}
TOOLS = (tool("read_file"),)


def error(kind: str, message: str, status: int) -> dict[str, Any]:
    """A scripted error in the API's shape."""
    return {"fault": {"status": status, "body": {"type": "error", "error": {"type": kind, "message": message}}}}


def ask(chat: ModelChat, *more: Message) -> ModelReply:
    """One request with a notice at its end."""
    messages = (*HELLO.messages, *more, {"role": "user", "content": "Go on."})
    return chat.complete(ChatRequest(messages, TOOLS, passing=1))


def turn(chat: ModelChat, reply: ModelReply) -> list[Message]:
    """A reply with calls, and their results."""
    results = ({"role": "tool", "tool_call_id": call.call_id, "content": "text"} for call in reply.calls)
    return [chat.said(reply), *results]


@pytest.mark.parametrize("options", [{}, {"reasoning_tokens": 2_000}, {"effort": "high"}])
def test_a_talk_with_thinking_goes_on(options: Mapping[str, Any]) -> None:
    """Thinking comes back before its calls as it came, with every way to ask for it."""
    with world(READ, {**READ, "calls": [["read_file", {}]] * 3}, OK, api="messages", **options) as w:
        said = turn(w.chat, ask(w.chat))
        said += turn(w.chat, ask(w.chat, *said))
        assert ask(w.chat, *said).text == "Hi."
    assert w.model.paths == ["/v1/messages"] * 3
    thoughts = [block for each in w.model.requests[-1]["messages"] for block in each["content"] if "signature" in block]
    assert len(thoughts) == 2


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda blocks: [{**blocks[0], "thinking": "Other."}, *blocks[1:]], "Invalid `signature`"),
        (lambda blocks: [{**blocks[0], "signature": "x"}, *blocks[1:]], "Invalid `signature`"),
        (lambda blocks: blocks[1:], "cannot be modified"),
        (lambda blocks: [*blocks[1:], blocks[0]], "cannot be modified"),
    ],
    ids=["other thinking", "other signature", "no thinking", "behind the call"],
)
def test_thinking_that_was_touched_is_refused_and_not_tried_again(spoil: Any, told: str) -> None:
    """The refusal says that it is about what the model had said."""
    with world(READ, OK, api="messages") as w:
        said, *results = turn(w.chat, ask(w.chat))
        with pytest.raises(ModelRefusedError, match=told):
            ask(w.chat, {**said, "content": spoil(list(said["content"]))}, *results)
        assert len(w.model.requests) == 2
        assert w.clock.slept == []


def test_what_the_cache_holds_is_told_and_grows_with_the_talk() -> None:
    """A turn's marks are the next one's hits: only what is new is written, and only the notice is neither."""
    with world(*[READ] * 5, api="messages") as w:
        said: list[Message] = []
        replies = []
        for _ in range(5):
            replies.append(ask(w.chat, *said))
            said += turn(w.chat, replies[-1])
    assert [reply.cached_tokens for reply in replies] == [
        0,
        *(before.cached_tokens + before.cache_write_tokens for before in replies[:-1]),
    ]
    notices = {reply.prompt_tokens - reply.cached_tokens - reply.cache_write_tokens for reply in replies}
    assert len(notices) == 1


@pytest.mark.parametrize("kind", ["overloaded_error", "rate_limit_error", "api_error", "timeout_error"])
def test_an_error_within_a_stream_that_may_pass_is_tried_again(kind: str) -> None:
    """It comes with status 200; what was begun counts as lost."""
    lost: list[str] = []
    with world(error(kind, "Later.", 200), OK, api="messages") as w:
        assert w.chat.complete(HELLO, lost.append).retries == 1
    assert lost == []


@pytest.mark.parametrize(
    ("reply", "raised", "told"),
    [
        (error("invalid_request_error", "No.", 200), ModelRefusedError, "No."),
        (error("invalid_request_error", "messages: No.", 400), ModelRefusedError, "No."),
        (error("authentication_error", "invalid x-api-key", 401), ModelRefusedError, "OPENAI_API_KEY"),
        (error("billing_error", "Your credit ran out.", 402), ModelRefusedError, "Add credit"),
        (error("invalid_request_error", "Your credit balance is too low.", 400), ModelRefusedError, "Add credit"),
        (error("invalid_request_error", "prompt is too long: 9 > 8", 400), ContextLengthError, "context_window"),
        (error("request_too_large", "Request exceeds the maximum size", 413), ContextLengthError, "context_window"),
        (error("request_too_large", "Request exceeds the maximum size", 200), ContextLengthError, "context_window"),
    ],
)
def test_an_error_that_will_not_pass_ends_the_request(reply: Any, raised: type[Exception], told: str) -> None:
    """Each with its way out, at the first try."""
    with world(reply, OK, api="messages") as w, pytest.raises(raised, match=told):
        w.chat.complete(HELLO)
    assert len(w.model.requests) == 1


def test_an_endpoint_that_is_overloaded_for_long_is_unavailable() -> None:
    """529 is tried again as often as the settings say."""
    with world(error("overloaded_error", "Overloaded", 529), then="repeat", api="messages", retries=2) as w:
        with pytest.raises(ModelUnavailableError, match="Overloaded"):
            w.chat.complete(HELLO)
        assert len(w.model.requests) == 3


REFUSED_FIELDS = [
    ("temperature", "`temperature` is deprecated for this model.", {}),
    ("output_config", "This model does not support the effort parameter.", {"effort": "high"}),
    ("output_config", "output_config: Extra inputs are not permitted", {"effort": "high"}),
    ("thinking", "adaptive thinking is not supported on this model", {"effort": "high"}),
    (
        "thinking",
        "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'enabled'",
        {"effort": "high"},
    ),
    ("cache_control", "messages.0.content.0.text.cache_control: Extra inputs are not permitted", {}),
]


@pytest.mark.parametrize(("field", "told", "options"), REFUSED_FIELDS)
def test_a_field_that_a_model_does_not_take_is_left_out_from_then_on(field: str, told: str, options: Any) -> None:
    """The request goes out again at once, and later ones never have it."""
    with world(error("invalid_request_error", told, 400), OK, OK, api="messages", **options) as w:
        assert [ask(w.chat).text, ask(w.chat).text] == ["Hi.", "Hi."]
        assert w.clock.slept == []
    assert [f'"{field}"' in json.dumps(sent) for sent in w.model.requests] == [True, False, False]


def test_a_budget_that_a_model_does_not_take_lets_it_decide_by_itself() -> None:
    """The newest models refuse a number of tokens and think as much as they see fit."""
    told = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config".'
    refused = error("invalid_request_error", told, 400)
    with world(refused, OK, api="messages", reasoning_tokens=2_000) as w:
        assert ask(w.chat).text == "Hi."
    assert [sent["thinking"]["type"] for sent in w.model.requests] == ["enabled", "adaptive"]


def test_tools_as_json_go_over_messages_too() -> None:
    """Calls in the text are found; they go back as text, with their results, and are marked as ever."""
    call = '{"tool": "read_file", "arguments": {"path": "a"}}'
    with world({"text": call}, OK, api="messages", tools="json") as w:
        reply = ask(w.chat)
        assert [each.tool for each in reply.calls] == ["read_file"]
        results = ({"role": "tool", "tool_call_id": each.call_id, "content": "text"} for each in reply.calls)
        assert ask(w.chat, assistant_message("", reply.calls), *results).text == "Hi."
    assert not any("tools" in sent for sent in w.model.requests)
    assert [json.dumps(sent).count("cache_control") for sent in w.model.requests] == [2, 3]


def refused(**changed: Any) -> str:
    """What the scripted model says of a request with these fields."""
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]} | changed
    conversations = Conversations(load_script({"conversations": [{"replies": [OK]}]}))
    answer = conversations.answer(MessagesForm(), {name: value for name, value in body.items() if value is not None})
    return str(answer.body["error"]["message"]) if answer.status == 400 else ""


ASKED = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
DONE = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
TEXT = {"type": "text", "text": "t"}
THOUGHT = {"type": "thinking", "thinking": "t", "signature": sealed("t")}
MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("blocks", "told"),
    [
        ([[TEXT], [ASKED], [DONE]], ""),
        ([[TEXT], [THOUGHT, ASKED], [DONE, TEXT]], ""),
        ([[TEXT], [ASKED]], "without `tool_result` blocks"),
        ([[TEXT], [ASKED], [TEXT, DONE]], "without `tool_result` blocks"),
        ([[TEXT], [ASKED, {**ASKED, "id": "b"}], [DONE]], "immediately after: b"),
        ([[TEXT], [TEXT], [DONE]], "unexpected `tool_use_id`"),
        ([[TEXT], [ASKED, ASKED], [DONE]], "must be unique"),
        ([[TEXT], [{**ASKED, "id": "a b"}], [DONE]], "should match pattern"),
        ([[TEXT], [{**ASKED, "input": "{}"}], [DONE]], "valid dictionary"),
        ([[TEXT], [{**THOUGHT, "signature": "x"}]], "Invalid `signature`"),
        ([[TEXT], [{**THOUGHT, **MARK}]], "cannot be set on thinking"),
        ([[{**TEXT, "text": " "}]], "non-whitespace"),
        ([[]], "non-empty content"),
        ([[{**TEXT, **MARK}] * 4], ""),
        ([[{**TEXT, **MARK}] * 5], "maximum of 4 blocks"),
    ],
)
def test_the_scripted_model_refuses_turns_as_the_provider_does(blocks: Any, told: str) -> None:
    """Calls and results that do not pair, empty texts, touched thinking, too many marks."""
    roles = ("user", "assistant", "user")
    messages = [{"role": role, "content": each} for role, each in zip(roles, blocks, strict=False)]
    assert told in refused(messages=messages)
    assert bool(told) == bool(refused(messages=messages))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": [{"role": "system", "content": "x"}]}, "Unexpected role"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "first message"),
        ({"messages": []}, "at least one message"),
        ({"tool_choice": {"type": "auto"}}, "while providing tools"),
        ({"output_config": {"effort": "minimal"}}, "output_config.effort"),
        ({"thinking": {"type": "enabled", "budget_tokens": 9}}, "at least 1024"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2_000}}, "`max_tokens` must be greater"),
        ({"thinking": {"type": "adaptive"}, "temperature": 0.2}, "`temperature` may only"),
        (
            {"thinking": {"type": "adaptive"}, "tool_choice": {"type": "any"}, "tools": [{"name": "f"}]},
            "forces tool use",
        ),
    ],
)
def test_the_scripted_model_refuses_requests_as_the_provider_does(changed: Any, told: str) -> None:
    """What is required, and what excludes each other."""
    assert told in refused(**changed)
