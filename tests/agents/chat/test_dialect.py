"""How a chat learns to speak to an endpoint: by which wire, without which fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from agents.chat.endpoint import model_endpoint
from agents.chat.model_chat import ModelChat
from agents.chat.port import ChatRequest
from agents.chat.wires import likely_wires
from agents.scripted.server import serve
from orchestrator.config.settings import ModelSettings
from orchestrator.domain.errors import ModelRefusedError
from tests.support.chat_world import HELLO, FixedClock, refusal, tool, world
from tests.support.odd_endpoint import Answer, Asked, OddEndpoint, completion, odd_endpoint, response

OK = {"text": "Hi."}
PAGE = "<html><body>Hello</body></html>"


@contextmanager
def chatting(answer: Answer, **settings: Any) -> Iterator[tuple[ModelChat, OddEndpoint, list[str]]]:
    """A chat with an endpoint, and what it told."""
    told: list[str] = []
    with odd_endpoint(answer) as endpoint:
        made = ModelSettings.model_validate({"name": "m", "base_url": endpoint.base_url, "retries": 0, **settings})
        chat = ModelChat(made, clock=FixedClock(), env={}, on_wait=told.append)
        yield chat, endpoint, told
        chat.close()


AZURE = "https://mine.openai.azure.com/openai"


@pytest.mark.parametrize(
    ("url", "model", "wires"),
    [
        ("https://api.anthropic.com", "claude-sonnet-4-5", ("messages", "chat")),
        ("https://api.openai.com/v1", "gpt-5.4", ("responses", "chat")),
        ("https://api.openai.com/v1", "gpt-5-codex", ("responses", "chat")),
        ("https://api.openai.com/v1", "codex-mini-latest", ("responses", "chat")),
        ("https://api.openai.com/v1", "o3", ("responses", "chat")),
        ("https://api.openai.com/v1", "o4-mini-2025-04-16", ("responses", "chat")),
        ("https://api.openai.com/v1", "gpt-6-sol", ("responses", "chat")),
        ("https://api.openai.com/v1", "gpt-5-chat-latest", ("chat", "responses")),
        ("https://api.openai.com/v1", "gpt-4o", ("chat", "responses")),
        ("https://api.openai.com/v1", "gpt-4.1-mini", ("chat", "responses")),
        (f"{AZURE}/v1", "my-gpt-5", ("responses", "chat")),
        (f"{AZURE}/v1/", "gpt-4o", ("chat", "responses")),
        pytest.param(f"{AZURE}/deployments/gpt-5", "gpt-5", ("chat", "responses", "messages"), id="an older address"),
        ("https://api.openai.com.evil.example/v1", "gpt-5", ("chat", "responses", "messages")),
        ("http://127.0.0.1:8000/v1", "gpt-5", ("chat", "responses", "messages")),
    ],
)
def test_the_likely_wires_are_told_by_endpoint_and_model(url: str, model: str, wires: tuple[str, ...]) -> None:
    """One that the settings name is the only one."""
    endpoint = model_endpoint(
        ModelSettings(name=model, base_url=url), {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    )
    assert likely_wires("auto", endpoint) == wires
    assert likely_wires("messages", endpoint) == ("messages",)


# OpenAI's words for a reasoning model with tools, and for a model that knows Responses alone.
WITH_EFFORT = (
    "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use "
    "/v1/responses instead."
)
RESPONSES_ALONE = "This model is only supported in v1/responses and not in v1/chat/completions."


@pytest.mark.parametrize(
    "no",
    [
        pytest.param(refusal("Not Found", 404), id="404"),
        pytest.param(refusal("Method Not Allowed", 405), id="405"),
        pytest.param(refusal("Not Implemented", 501), id="501"),
        pytest.param(refusal(PAGE, 200), id="error that is a page"),
        pytest.param({"fault": {"html": True}}, id="page"),
        pytest.param({"fault": {"html": True, "status": 400}}, id="page with 400"),
        pytest.param(refusal(WITH_EFFORT), id="400 that names the other path"),
        pytest.param(refusal(RESPONSES_ALONE, 404, param="model"), id="404 that names it"),
    ],
)
def test_a_wire_that_the_endpoint_does_not_have_is_left_at_once_and_for_good(no: dict[str, Any]) -> None:
    """No retry, no wait; the next request goes the new way directly."""
    with world(no, OK, OK) as w:
        assert [w.chat.complete(HELLO).text for _ in range(2)] == ["Hi.", "Hi."]
        assert (w.chat.wire.name, w.clock.slept) == ("responses", [])
        assert ["messages" in body for body in w.model.requests] == [True, False, False]
    assert len(w.waits) == 1 and "/responses" in w.waits[0]


def test_what_the_endpoint_names_is_tried_first() -> None:
    """Also behind another that is likelier."""
    told = "This endpoint speaks v1/messages."
    with chatting(lambda _: response(404, {"message": told})) as (chat, endpoint, _), pytest.raises(ModelRefusedError):
        chat.complete(HELLO)
    assert [asked.path for asked in endpoint.asked][:2] in (
        ["/v1/chat/completions", "/v1/messages"],
        ["/v1/chat/completions", "/v1/responses"],  # without the anthropic package
    )


@pytest.mark.parametrize("status", [401, 403])
def test_a_page_that_asks_for_a_key_says_nothing_of_wires(status: int) -> None:
    """A gateway before the endpoint would say it on every path."""
    with world({"fault": {"html": True, "status": status}}, OK) as w, pytest.raises(ModelRefusedError, match="key"):
        w.chat.complete(HELLO)
    assert len(w.model.requests) == 1


@pytest.mark.parametrize(
    "message",
    ["The model `m` does not exist", 'model "m" not found, try pulling it first', "No endpoints found for m."],
)
def test_an_unknown_model_is_no_missing_wire(message: str) -> None:
    """As OpenAI, vLLM, Ollama and OpenRouter say it."""
    with world(refusal(message, 404), OK) as w, pytest.raises(ModelRefusedError, match="ORCHESTRATE_MODEL"):
        w.chat.complete(HELLO)
    assert len(w.model.requests) == 1


def test_a_wire_that_the_settings_name_stays() -> None:
    """One error that says which to try."""
    with world(refusal(WITH_EFFORT), OK, api="chat") as w, pytest.raises(ModelRefusedError) as caught:
        w.chat.complete(HELLO)
    assert 'does not have the api = "chat" of the settings: try "responses", or auto' in str(caught.value.next_step)
    assert len(w.model.requests) == 1


def test_no_wire_is_changed_once_a_reply_came() -> None:
    """Its message could not go out on another."""
    with world(OK, refusal("Not Found", 404), OK) as w:
        w.chat.complete(HELLO)
        with pytest.raises(ModelRefusedError, match="cannot change over"):
            w.chat.complete(HELLO)
        assert len(w.model.requests) == 2


def talk(*fields: str) -> ChatRequest:
    """A conversation whose second message came with these fields of the endpoint's own."""
    own = dict.fromkeys(fields, "x")
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}, **own}
    said = {"role": "assistant", "content": "Hm.", "tool_calls": [call], **own}
    result = {"role": "tool", "tool_call_id": "c", "content": "ok"}
    return ChatRequest([*HELLO.messages, said, result], [tool("f")])


def strict(told: str, field: str) -> Answer:
    """Refuses the field in assistant messages and their calls."""

    def answer(asked: Asked) -> bytes:
        said = [message for message in asked.body["messages"] if message["role"] == "assistant"]
        parts = [part for message in said for part in (message, *message["tool_calls"])]
        return (
            response(400, json.loads(told))
            if any(field in part for part in parts)
            else completion(asked, content="Hi.")
        )

    return answer


GROQ = (
    "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning' is "
    "unsupported)]"
)


@pytest.mark.parametrize(
    ("told", "field"),
    [
        pytest.param(
            '{"message": "messages.2.reasoning_content: Extra inputs are not permitted"}',
            "reasoning_content",
            id="plain",
        ),
        pytest.param(
            '{"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 2, "assistant", "reasoning_content"],'
            ' "msg": "Extra inputs are not permitted"}]}',
            "reasoning_content",
            id="Mistral",
        ),
        pytest.param(
            json.dumps({"error": {"message": GROQ}}),
            "reasoning",
            id="Groq",
        ),
        pytest.param(
            '{"message": "messages.2.tool_calls.0.extra_content: Extra inputs are not permitted"}',
            "extra_content",
            id="of a call",
        ),
    ],
)
def test_a_field_of_a_reply_that_is_not_taken_back_is_left_out_from_then_on(told: str, field: str) -> None:
    """That one and no other; it is said once."""
    with chatting(strict(told, field)) as (chat, endpoint, waits):
        assert [chat.complete(talk(field, "kept")).text for _ in range(2)] == ["Hi.", "Hi."]
    said: list[Mapping[str, Any]] = [asked.body["messages"][2] for asked in endpoint.asked]
    assert [field in message or field in message["tool_calls"][0] for message in said] == [True, False, False]
    assert all("kept" in message and "kept" in message["tool_calls"][0] for message in said)
    assert [field in wait for wait in waits] == [True]


@pytest.mark.parametrize("field", ["content", "tool_calls", "role", "unsent"])
def test_nothing_that_a_message_needs_is_left_out(field: str) -> None:
    """Nor what was never sent: that is a refusal."""
    told = {"message": f"messages.2.{field}: Extra inputs are not permitted"}
    with chatting(lambda _: response(400, told)) as (chat, endpoint, _), pytest.raises(ModelRefusedError):
        chat.complete(talk("mine"))
    assert len(endpoint.asked) == 1


def test_an_endpoint_cannot_make_us_ask_without_end() -> None:
    """One that refuses field after field of its own is given up."""
    fields = [f"field_{number}" for number in range(50)]

    def answer(asked: Asked) -> bytes:
        left = [name for name in asked.body["messages"][2] if name.startswith("field_")]
        return response(400, {"message": f"messages.2.{left[0]}: Extra inputs are not permitted"})

    with chatting(answer) as (chat, endpoint, _), pytest.raises(ModelRefusedError):
        chat.complete(talk(*fields))
    assert len(endpoint.asked) == 9


@pytest.mark.parametrize(
    ("api", "told", "field"),
    [
        ("chat", "Unsupported parameter: 'reasoning_effort' is not supported with this model.", "reasoning_effort"),
        ("chat", "Unrecognized request argument supplied: reasoning_effort", "reasoning_effort"),
        ("responses", "Unsupported parameter: 'reasoning.effort' is not supported with this model.", "reasoning"),
        ("responses", "Encrypted content is not supported with this model: 'include'.", "include"),
    ],
)
def test_reasoning_that_is_not_taken_is_left_out_and_said_once(api: str, told: str, field: str) -> None:
    """Work goes on without it."""
    with world(refusal(told), OK, OK, api=api, effort="high") as w:
        assert [w.chat.complete(HELLO).text for _ in range(2)] == ["Hi.", "Hi."]
        assert [field in body for body in w.model.requests] == [True, False, False]
    assert [field in wait for wait in w.waits] == [True]


@pytest.mark.parametrize("status", [400, 422, 500])
@pytest.mark.parametrize(
    "told",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "Function call is missing a thought_signature in functionCall parts.",
        "The encrypted content gAAA could not be verified.",
    ],
)
def test_a_refused_signature_is_said_so_and_never_sent_again(told: str, status: int) -> None:
    """As Anthropic, Gemini and OpenAI say it; the way out is named."""
    with world(refusal(told, status), OK) as w, pytest.raises(ModelRefusedError) as caught:
        w.chat.complete(HELLO)
    assert "does not take back what its model said" in str(caught.value.next_step)
    assert (len(w.model.requests), w.clock.slept) == (1, [])


def test_words_about_reasoning_are_no_field() -> None:
    """A sentence that speaks of thinking or of what to include takes nothing out of a request."""
    told = "Invalid request: please include a thinking budget, reasoning is not supported."
    with world(refusal(told), OK, effort="high", api="responses") as w, pytest.raises(ModelRefusedError):
        w.chat.complete(HELLO)
    assert len(w.model.requests) == 1


def test_two_requests_at_once_learn_the_wire_together() -> None:
    """Whoever finds it first switches for all; nobody's reply is of a wire that is not spoken any more."""
    with serve({"apis": ["responses"], "conversations": [{"replies": [OK], "then": "repeat"}]}) as model:
        chat = ModelChat(ModelSettings(name="m", base_url=model.base_url), clock=FixedClock(), env={})
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda _: chat.complete(HELLO), range(24)))
        assert {reply.text for reply in replies} == {"Hi."}
        assert all("output" in chat.said(reply) for reply in replies)
        chat.close()
