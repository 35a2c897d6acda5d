"""The scripted model's APIs: one conversation whatever the form, shapes as the providers' types have them, signatures
checked in the providers' words."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from agents.scripted.chat_form import ChatForm
from agents.scripted.conversations import Conversations, ScriptedAnswer
from agents.scripted.form import ScriptedForm
from agents.scripted.messages_form import MessagesForm
from agents.scripted.responses_form import ResponsesForm
from agents.scripted.script import load_script
from agents.scripted.server import serve

MIXED = {"reasoning": True, "text": "Look.", "calls": [["f", {"a": 1}], ["g", "{broken"]]}
CHAT, RESPONSES, MESSAGES = ChatForm(), ResponsesForm(), MessagesForm()
SYSTEM, USER = {"role": "system", "content": "s"}, {"role": "user", "content": "u"}


def spoken(*replies: Mapping[str, Any]) -> Conversations:
    """A model that gives these replies."""
    return Conversations(load_script({"conversations": [{"replies": list(replies), "then": "error"}]}))


def chat_body(*more: Mapping[str, Any], stream: bool = False) -> dict[str, Any]:
    """A chat completions request."""
    return {"model": "m", "messages": [SYSTEM, USER, *more], "stream": stream}


def responses_body(*more: Mapping[str, Any], stream: bool = False) -> dict[str, Any]:
    """A Responses request."""
    return {"model": "m", "instructions": "s", "input": [USER, *more], "stream": stream}


def refused(answer: ScriptedAnswer) -> str:
    """What a refusal says."""
    assert answer.status == 400
    return str(answer.body["error"]["message"])


def test_a_conversation_is_the_same_one_in_every_form() -> None:
    """System text and first user message tell it, however they are told."""
    conversations = spoken({"text": "1"}, {"text": "2"}, {"text": "3"}, {"text": "4"})
    system_item = {"model": "m", "input": [SYSTEM, {"role": "user", "content": [{"type": "input_text", "text": "u"}]}]}
    messages = {"model": "m", "max_tokens": 9, "system": "s", "messages": [USER]}
    asked: Sequence[tuple[ScriptedForm, dict[str, Any]]] = [
        (CHAT, chat_body()),
        (RESPONSES, responses_body()),
        (RESPONSES, system_item),
        (MESSAGES, messages),
    ]
    bodies = [conversations.answer(form, body).body for form, body in asked]
    assert bodies[0]["choices"][0]["message"]["content"] == "1"
    assert [body["output"][0]["content"][0]["text"] for body in bodies[1:3]] == ["2", "3"]
    assert bodies[3]["content"][0]["text"] == "4"


@pytest.mark.parametrize(
    "reply", [MIXED, {"text": "No.", "finish_reason": "refusal"}, {"text": "a", "finish_reason": "length"}]
)
def test_what_is_sent_has_the_shape_of_the_providers_types(reply: dict[str, Any]) -> None:
    """Whole and streamed: the last event's response is what comes whole."""
    whole = spoken(reply).answer(RESPONSES, responses_body()).body
    Response.model_validate(whole, strict=True)
    events = [event.told for event in spoken(reply).answer(RESPONSES, responses_body(stream=True)).events]
    for event in events:
        TypeAdapter(ResponseStreamEvent).validate_python(event)
    assert isinstance(events[-1], dict)
    assert events[-1]["response"] == whole
    if "finish_reason" not in reply:
        ChatCompletion.model_validate(spoken(reply).answer(CHAT, chat_body()).body)
        *chunks, _ = spoken(reply).answer(CHAT, chat_body(stream=True)).events
        for chunk in chunks:
            ChatCompletionChunk.model_validate(chunk.told)


def replied(conversations: Conversations) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A mixed reply's reasoning, and the items that follow it with the outputs of their calls."""
    reasoning, *items = conversations.answer(RESPONSES, responses_body()).body["output"]
    called = [item["call_id"] for item in items if item["type"] == "function_call"]
    return reasoning, [*items, *({"type": "function_call_output", "call_id": each, "output": "x"} for each in called)]


def test_reasoning_is_checked_when_it_comes_back() -> None:
    """Missing, altered, without its content, or alone: refused in the provider's words. All of it together is taken."""
    conversations = spoken(MIXED, {"text": "ok"})
    reasoning, items = replied(conversations)

    def told(*sent: dict[str, Any]) -> str:
        return refused(conversations.answer(RESPONSES, responses_body(*sent)))

    assert told(*items).endswith(f"was provided without its required 'reasoning' item: '{reasoning['id']}'.")
    assert "could not be verified" in told({**reasoning, "encrypted_content": "gAAAAAB"}, *items)
    assert "not found. Items are not persisted" in told({**reasoning, "encrypted_content": None}, *items)
    assert told(reasoning).endswith("of type 'reasoning' was provided without its required following item.")
    assert told(reasoning, *items[:-1]) == f"No tool output found for function call {items[2]['call_id']}."
    assert told(items[-1]).startswith("No tool call found for function call output")
    assert conversations.answer(RESPONSES, responses_body(reasoning, *items)).status == 200


def test_a_thought_signature_is_checked_when_it_comes_back() -> None:
    """The first call of a reply that was thought about is refused without it, and with another."""
    conversations = spoken(MIXED, {"text": "ok"})
    message = conversations.answer(CHAT, chat_body()).body["choices"][0]["message"]
    first, second = message["tool_calls"]
    assert "extra_content" not in second
    bare = {name: value for name, value in first.items() if name != "extra_content"}
    other = {**first, "extra_content": {"google": {"thought_signature": "AAAA"}}}
    for call, told in (
        (bare, "missing a thought_signature in functionCall parts"),
        (other, "Corrupted thought signature"),
    ):
        answer = conversations.answer(CHAT, chat_body({**message, "tool_calls": [call, second]}))
        assert told in refused(answer)
    assert conversations.answer(CHAT, chat_body(message)).status == 200


@pytest.mark.parametrize("body", [{}, {"input": 7}, {"input": [7]}, {"input": None, "stream": "yes"}])
def test_a_request_without_input_is_refused(body: dict[str, Any]) -> None:
    """By the form, in the API's own error."""
    assert "Invalid type for 'input'" in refused(spoken({"text": "a"}).answer(RESPONSES, body))


def test_an_api_that_a_script_does_not_speak_is_not_found() -> None:
    """404 with a JSON error, which names those that are there."""
    script = {"apis": ["responses"], "conversations": [{"replies": [{"text": "a"}]}]}
    with serve(script) as model:
        asked = urllib.request.Request(f"{model.base_url}/chat/completions", b"{}", method="POST")  # noqa: S310 - loopback
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(asked)  # noqa: S310 - loopback
        assert caught.value.code == 404
        assert json.load(caught.value)["error"]["message"].endswith("try /v1/responses.")
