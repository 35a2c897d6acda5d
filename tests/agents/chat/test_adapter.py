"""What goes over the wire and what comes back."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agents.chat.completions import STREAMING
from agents.chat.json_tools import tool_calls_in_text
from agents.chat.limiter import RateLimits
from agents.chat.model_chat import ModelChat
from agents.chat.port import Chat, ChatRequest
from agents.scripted.server import serve
from orchestrator.config.settings import ModelSettings, PriceSettings
from orchestrator.domain.errors import ModelRefusedError
from tests.support.chat_world import HELLO, FixedClock, refusal, tool, world

OK = {"text": "Hi."}


def test_the_body_goes_out_as_it_is_given() -> None:
    """Messages, tools and extra fields reach the endpoint unchanged, past the client's transform, as a request for a
    stream that ends with the usage."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Grüße, 世界 \u0000 \u2028 🎉", "name": "u"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "x-own": {"a": [1, None]},
                    "function": {"name": "f", "arguments": '{"broken'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": ""},
    ]
    tools = [tool("finish_task")]
    with world(OK, extra={"seed": 7, "chat_template_kwargs": {"thinking": False}}) as w:
        w.chat.complete(ChatRequest(messages, tools, "finish_task"))
    assert w.model.requests == [
        {
            "model": "scripted",
            "messages": messages,
            "tools": tools,
            "tool_choice": {"type": "function", "function": {"name": "finish_task"}},
            "temperature": 0.2,
            "max_tokens": 8192,
            "stream": True,
            "stream_options": {"include_usage": True},
            "seed": 7,
            "chat_template_kwargs": {"thinking": False},
        }
    ]


def test_a_lone_surrogate_does_not_end_the_run() -> None:
    """Text that no UTF-8 can hold is sent with a replacement."""
    with world(OK) as w:
        assert w.chat.complete(ChatRequest([{"role": "user", "content": "a\ud800b"}])).text == "Hi."
    assert w.model.requests[0]["messages"][0]["content"] == "a?b"


def test_without_tools_no_tool_choice_is_sent() -> None:
    """An endpoint that knows no tools is not bothered with them."""
    with world(OK, temperature=None) as w:
        w.chat.complete(HELLO)
    assert set(w.model.requests[0]) == {"model", "messages", "max_tokens", *STREAMING}


def test_a_reply_brings_text_calls_usage_and_price() -> None:
    """Tool calls come with their raw arguments, usage with cached tokens, and the price from the settings."""
    calls = [{"tool": "read_file", "arguments": {"path": "a"}}, {"tool": "nonsense", "arguments": "{broken"}]
    price = PriceSettings(input=10, cached_input=1, output=100)
    with world({"text": "Look.", "calls": calls}, OK, price=price) as w:
        first = w.chat.complete(HELLO)
        second = w.chat.complete(ChatRequest([*HELLO.messages, {"role": "assistant", "content": "x" * 400}]))
    assert [(call.tool, call.arguments_json) for call in first.calls] == [
        ("read_file", '{"path": "a"}'),
        ("nonsense", "{broken"),
    ]
    assert len({call.call_id for call in first.calls}) == 2
    assert (first.text, first.finish_reason, first.estimated, first.cached_tokens) == ("Look.", "tool_calls", False, 0)
    assert second.cached_tokens == first.prompt_tokens
    assert second.cost_usd == pytest.approx(
        ((second.prompt_tokens - second.cached_tokens) * 10 + second.cached_tokens + second.completion_tokens * 100)
        / 1e6
    )


def test_missing_usage_is_estimated_and_marked() -> None:
    """A reply without usage has tokens of ours, on the high side."""
    with world({"text": "Hello there. " * 50, "fault": {"no_usage": True}}) as w:
        reply = w.chat.complete(HELLO)
    assert reply.estimated
    assert reply.prompt_tokens == w.chat.estimate(HELLO.messages)
    assert reply.completion_tokens >= 150


def test_a_refused_temperature_is_omitted_from_then_on() -> None:
    """The request is sent again at once without it, and every later one too."""
    unsupported = "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value."
    with world(refusal(unsupported, param="temperature", code="unsupported_value"), OK, OK) as w:
        assert [w.chat.complete(HELLO).retries, w.chat.complete(HELLO).retries] == [0, 0]
    assert ["temperature" in request for request in w.model.requests] == [True, False, False]
    assert w.clock.slept == []


@pytest.mark.parametrize(
    "fields", [{"param": "max_tokens", "code": "unsupported_parameter"}, {"param": None}], ids=["param", "text only"]
)
def test_max_tokens_becomes_max_completion_tokens(fields: dict[str, Any]) -> None:
    """A model that wants the newer name gets it."""
    text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    with world(refusal(text, **fields), OK) as w:
        w.chat.complete(HELLO)
    assert "max_completion_tokens" not in w.model.requests[0]
    assert w.model.requests[1]["max_completion_tokens"] == 8192
    assert "max_tokens" not in w.model.requests[1]


def test_all_refused_fields_are_learnt_one_after_the_other() -> None:
    """An endpoint that refuses temperature, both token limits and the tool choice is still served."""
    refusals = [
        refusal("temperature is not supported"),
        refusal("Unknown parameter max_tokens"),
        refusal("Unknown parameter max_completion_tokens"),
        refusal("tool_choice 'required' is not supported by this model"),
    ]
    with world(*refusals, OK) as w:
        w.chat.complete(ChatRequest(HELLO.messages, [tool("f")], "required"))
    assert w.model.requests[-1]["tool_choice"] == "auto"
    assert set(w.model.requests[-1]) == {"model", "messages", "tools", "tool_choice", *STREAMING}


def test_a_field_that_is_refused_although_it_is_gone_is_a_refusal() -> None:
    """No endless loop with an endpoint that refuses temperature for ever."""
    with world(refusal("temperature is not supported"), then="repeat") as w, pytest.raises(ModelRefusedError):
        w.chat.complete(HELLO)
    assert len(w.model.requests) == 2


def test_no_key_means_no_authorization_header() -> None:
    """A key is optional where the endpoint's address is set."""
    with world(OK, OK) as w:
        settings = ModelSettings(name="scripted")
        ModelChat(settings, clock=w.clock, env={"OPENAI_BASE_URL": w.model.base_url}).complete(HELLO)
    assert w.model.authorizations == [""]


def test_a_loopback_endpoint_is_reached_past_any_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxy variables of the environment do not hijack 127.0.0.1."""
    with world(OK) as w:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        assert w.chat.complete(HELLO).text == "Hi."


def test_the_rate_limit_is_shared_by_endpoint_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two roles at one remote endpoint (here behind a proxy) draw on one bucket, and wait_ms tells."""
    with serve({"conversations": [{"replies": [OK]}]}) as proxy:
        monkeypatch.setenv("http_proxy", proxy.base_url.removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        clock, limits, waits = FixedClock(), RateLimits(), list[str]()
        settings = ModelSettings(name="m", base_url="http://model.test/v1", rate_limit=60)
        one, other = (ModelChat(settings, clock=clock, env={}, limits=limits, on_wait=waits.append) for _ in range(2))
        assert one.complete(HELLO).wait_ms == 0
        assert other.complete(HELLO).wait_ms == pytest.approx(60_000)
    assert "60 requests an hour" in waits[0]


def test_a_loopback_endpoint_has_no_rate_limit() -> None:
    """A model on this machine is asked as often as one likes."""
    with world(OK, then="repeat", rate_limit=1) as w:
        assert [w.chat.complete(HELLO).wait_ms for _ in range(3)] == [0, 0, 0]


def test_one_chat_serves_many_threads() -> None:
    """Parallel attempts share an adapter; nobody gets another's reply."""
    conversations = [
        {"when": {"task": f"t{n}"}, "replies": [{"text": f"reply {n}", "latency_ms": 20}]} for n in range(8)
    ]
    with serve({"conversations": conversations}) as model:
        chat = ModelChat(ModelSettings(name="m", base_url=model.base_url), clock=FixedClock(), env={})
        requests = [ChatRequest([{"role": "user", "content": f"Task: t{n}"}]) for n in range(8)] * 3
        with ThreadPoolExecutor(8) as pool:
            texts = [reply.text for reply in pool.map(chat.complete, requests)]
        chat.close()
    assert texts == [f"reply {n}" for n in range(8)] * 3


def test_json_mode_tells_tools_in_the_system_text_and_reads_calls_from_the_text() -> None:
    """An endpoint without tool calls sees plain messages only, and its JSON comes back as calls."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a worker."},
        {"role": "user", "content": "Task: a"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "x"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "the text"},
    ]
    said = 'I read.\n```json\n{"tool": "finish_task", "arguments": {"summary": "done"}}\n```'
    with world({"text": said}, tools="json") as w:
        chat: Chat = w.chat
        reply = chat.complete(ChatRequest(messages, [tool("read_file"), tool("finish_task")], "required"))
    body = w.model.requests[0]
    assert "tools" not in body
    assert body["response_format"] == {"type": "json_object"}
    assert {message["role"] for message in body["messages"]} == {"system", "user", "assistant"}
    assert "finish_task" in body["messages"][0]["content"]
    assert "the text" in body["messages"][3]["content"]
    assert [(call.tool, call.arguments_json) for call in reply.calls] == [("finish_task", '{"summary": "done"}')]


def test_json_mode_shows_several_calls_as_the_one_object_that_it_asks_for() -> None:
    """What the model is shown of its own calls is what it was told to write: one JSON object a reply."""
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(2)]
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": "ok"} for n in range(2)]
    assistant = {"role": "assistant", "content": None, "tool_calls": calls}
    with world({"text": "Hi."}, tools="json") as w:
        w.chat.complete(ChatRequest([*HELLO.messages, assistant, *results], [tool("f")]))
    written = w.model.requests[0]["messages"][2]["content"]
    assert json.loads(written).keys() == {"tool_calls"}
    assert [call.tool for call in tool_calls_in_text(written)] == ["f", "f"]


def test_json_mode_without_response_format_where_the_endpoint_refuses_it() -> None:
    """A server that knows only other formats is asked without one from then on; without tools none is asked for."""
    only = refusal("'response_format.type' must be 'json_schema' or 'text'")
    with world(only, OK, OK, tools="json") as w:
        for _ in range(2):
            w.chat.complete(ChatRequest(HELLO.messages, [tool("f")]))
    assert ["response_format" in request for request in w.model.requests] == [True, False, False]
    with world(OK, tools="json") as w:
        w.chat.complete(HELLO)
    assert "response_format" not in w.model.requests[0]


@pytest.mark.parametrize(
    ("told", "settings", "used"),
    [
        ({"context_length": 6_000}, {}, (6_000, 3_000)),
        ({"context_length": 6_000, "llama_cpp": True}, {}, (6_000, 3_000)),
        ({"context_length": 6_000, "llama_cpp": True, "model": "model.gguf"}, {}, (6_000, 3_000)),
        ({"context_length": 6_000}, {"context_window": 9_000, "max_output_tokens": 5_000}, (9_000, 5_000)),
        ({"context_length": 1_000_000}, {}, (128_000, 8_192)),
        ({"context_length": 5}, {}, (2_000, 1_000)),
        ({"model": "other"}, {}, (128_000, 8_192)),
    ],
    ids=["listed", "llama.cpp", "another name", "set by hand", "larger", "useless", "not told"],
)
def test_the_context_length_that_an_endpoint_tells_is_used(
    told: dict[str, Any], settings: dict[str, Any], used: tuple[int, int]
) -> None:
    """Where the settings say nothing, the window is no larger than the endpoint's, and half of it a reply's."""
    with serve({**told, "conversations": [{"replies": [OK]}]}) as model:
        made = ModelSettings(name="scripted", base_url=model.base_url, **settings)
        chat = ModelChat(made, clock=FixedClock(), env={})
        assert (chat.context_window, chat.max_output_tokens) == used
        chat.complete(HELLO)
        chat.close()
    assert model.requests[0]["max_tokens"] == used[1]
