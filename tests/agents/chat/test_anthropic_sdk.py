"""The anthropic package as the carrier of Messages: nothing but what is paired with an endpoint goes there, and nothing
of it retries, waits or fails by itself."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from agents.chat.model_chat import ModelChat
from agents.chat.port import ChatRequest
from agents.chat.sdk import messages_base_url
from agents.scripted.server import serve
from orchestrator.config.settings import ModelSettings
from orchestrator.domain.errors import ModelRefusedError, UserError
from tests.support.chat_world import HELLO, KEY, FixedClock, refusal, world

OK = {"text": "Hi."}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com/", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com/v1", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1"),
        ("https://gateway.example/anthropic", "https://gateway.example/anthropic/v1"),
        ("http://[::1]:8080/v1?team=a", "http://[::1]:8080/v1?team=a"),
    ],
)
def test_an_address_may_be_written_with_v1_or_without(written: str, meant: str) -> None:
    """Both ways are in use, and mean one address."""
    assert messages_base_url(written) == meant


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_a_request_goes_to_v1_messages(path: str) -> None:
    """Whichever way the address is written."""
    with serve({"conversations": [{"replies": [OK]}]}) as model:
        settings = ModelSettings(name="m", base_url=model.base_url.removesuffix("/v1") + path, api="messages")
        chat = ModelChat(settings, clock=FixedClock(), env={})
        assert chat.complete(HELLO).text == "Hi."
        chat.close()
    assert model.paths == ["/v1/messages"]


def test_nothing_of_the_environment_goes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, token, header or address that the package would take from it by itself, with a key of ours or without."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "sk-of-the-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer sk-of-a-header\nX-Team: told-by-nobody")
    with serve({"conversations": [{"replies": [OK]}]}) as model:
        for env in ({}, {"OPENAI_API_KEY": KEY}):
            settings = ModelSettings(name="m", base_url=model.base_url, api="messages")
            chat = ModelChat(settings, clock=FixedClock(), env=env)
            chat.complete(HELLO)
            chat.close()
    assert model.authorizations == ["", f"Bearer {KEY}"]
    assert not any("told-by-nobody" in value for headers in model.headers for value in headers.values())


def test_the_package_does_not_try_again_by_itself() -> None:
    """How often, and how long to wait between, is ours to say."""
    with world(refusal("Busy.", 529), OK, api="messages") as w:
        assert w.chat.complete(HELLO).retries == 1
        assert w.clock.slept == [2.0]
    assert len(w.model.requests) == 2


def test_a_long_reply_may_come_whole() -> None:
    """The package would rather have it streamed; an endpoint that cannot stream is asked all the same."""
    refused = refusal("stream is not supported")
    with world(refused, OK, api="messages", max_output_tokens=120_000, context_window=200_000) as w:
        assert w.chat.complete(HELLO).text == "Hi."
    assert ["stream" in sent for sent in w.model.requests] == [True, False]


def test_what_no_json_can_hold_is_sent_without_it() -> None:
    """Lone surrogates and numbers beyond all bounds, which models make up, break no request."""
    said = {"role": "assistant", "content": [{"type": "text", "text": "\ud800"}, {"type": "new", "score": 1e999}]}
    with world(OK, api="messages") as w:
        w.chat.complete(ChatRequest((*HELLO.messages, said, HELLO.messages[1])))
    blocks = w.model.requests[0]["messages"][1]["content"]
    assert blocks == [{"type": "text", "text": "?"}, {"type": "new", "score": None}]


def test_without_the_package_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as the model is opened, before anything is asked."""
    monkeypatch.setitem(sys.modules, "anthropic", None)
    settings = ModelSettings(name="m", base_url="http://127.0.0.1:9/v1", api="messages")
    with pytest.raises(UserError, match="pip install 'orchestrate\\[anthropic\\]'") as raised:
        ModelChat(settings, clock=FixedClock(), env={})
    assert raised.value.exit_code == 2


def test_the_vendors_key_is_asked_for_by_its_name() -> None:
    """Where no address is set, Messages are Anthropic's."""
    with pytest.raises(UserError, match="ANTHROPIC_API_KEY"):
        ModelChat(ModelSettings(name="m", api="messages"), clock=FixedClock(), env={"OPENAI_API_KEY": KEY})
    chat = ModelChat(ModelSettings(name="m", api="messages"), clock=FixedClock(), env={"ANTHROPIC_API_KEY": KEY})
    assert (chat.endpoint.host, chat.endpoint.key_variable) == ("api.anthropic.com", "ANTHROPIC_API_KEY")
    assert chat.endpoint.redacted(f"x {KEY}") == "x ***"
    chat.close()


def test_what_is_nested_beyond_writing_is_refused() -> None:
    """Not by a crash: an endpoint may send blocks of any depth, and they go back as they came."""
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    said = {"role": "assistant", "content": [{"type": "new", "depth": deep}]}
    with world(OK, api="messages") as w, pytest.raises(ModelRefusedError, match="nested too deep"):
        w.chat.complete(ChatRequest((*HELLO.messages, said, HELLO.messages[1])))
