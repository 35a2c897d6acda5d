"""Every way in which an endpoint fails, over real HTTP against the scripted model."""

from __future__ import annotations

import logging
import traceback
from typing import Any

import pytest

from agents.chat.model_chat import ModelChat
from orchestrator.config.settings import ModelSettings
from orchestrator.domain.errors import (
    ContextLengthError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
    UserError,
)
from tests.support.chat_world import HELLO, KEY, FixedClock, refusal, world

OK = {"text": "Hi."}


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 422])
def test_a_refusal_is_never_tried_again(status: int) -> None:
    """401, 402, 403, 404 and 400 end the request at once and say what to do."""
    with world(refusal("No.", status), OK, api="chat") as w, pytest.raises(ModelRefusedError) as caught:
        w.chat.complete(HELLO)
    assert len(w.model.requests) == 1
    assert w.clock.slept == []
    assert f"HTTP {status}" in str(caught.value)
    assert caught.value.next_step
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("status", "named"),
    [(401, "OPENAI_API_KEY"), (402, "OPENAI_API_KEY"), (403, "OPENAI_API_KEY"), (404, "ORCHESTRATE_MODEL")],
)
def test_a_refusal_names_the_way_out(status: int, named: str) -> None:
    """The message names the key's variable or the model's, the model and the endpoint's host."""
    with world(refusal("No.", status), api="chat") as w, pytest.raises(ModelRefusedError) as caught:
        w.chat.complete(HELLO)
    assert named in caught.value.next_step
    assert "scripted" in str(caught.value)
    assert w.chat.endpoint.host in str(caught.value)


def test_an_exhausted_quota_is_a_refusal_although_it_comes_as_429() -> None:
    """Without credit no retry can help."""
    with world(refusal("You exceeded your quota.", 429, code="insufficient_quota"), OK) as w:
        with pytest.raises(ModelRefusedError, match="credit"):
            w.chat.complete(HELLO)
        assert len(w.model.requests) == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(status: int) -> None:
    """429 and 5xx are tried again after a wait that is announced."""
    with world({"fault": {"status": status}}, OK) as w:
        reply = w.chat.complete(HELLO)
    assert (reply.text, reply.retries, reply.wait_ms) == ("Hi.", 1, 2000.0)
    assert reply.latency_ms == 2000.0
    assert len(w.waits) == 1
    assert f"HTTP {status}" in w.waits[0]


def test_backoff_doubles_from_two_seconds() -> None:
    """The waits are 2, 4, 8 and 16 s; then the endpoint counts as unavailable, exit code 4."""
    with world({"fault": {"status": 503}}, then="repeat") as w, pytest.raises(ModelUnavailableError) as caught:
        w.chat.complete(HELLO)
    assert w.clock.slept == [2.0, 4.0, 8.0, 16.0]
    assert len(w.model.requests) == 5
    assert "tried 5 times" in str(caught.value)
    assert caught.value.exit_code == 4


def test_jitter_adds_up_to_a_quarter() -> None:
    """Jitter only lengthens a wait, by a quarter at most."""
    with world({"fault": {"status": 503}}, OK) as w:
        settings = ModelSettings(name="scripted", base_url=w.model.base_url)
        ModelChat(settings, clock=w.clock, env={}, jitter=lambda: 1.0).complete(HELLO)
    assert w.clock.slept == [2.5]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(7, 7.0), ("0.5", 0.5), ("Thu, 01 Jan 2026 00:00:30 GMT", 30.0), ("soon", 2.0), ("0", 2.0), ("Thu, 99 Jan", 2.0)],
)
def test_retry_after_is_honoured(header: int | str, seconds: float) -> None:
    """Seconds and HTTP dates are waited for as asked; nonsense falls back to backoff."""
    with world({"fault": {"status": 429, "retry_after": header}}, OK) as w:
        w.chat.complete(HELLO)
    assert w.clock.slept == [pytest.approx(seconds)]


@pytest.mark.parametrize("header", [100_000, "inf", "1e999"])
def test_a_retry_after_beyond_the_bound_ends_the_request(header: int | str) -> None:
    """Waiting less than was asked is useless, waiting that long is worse: the run can be resumed later."""
    with world({"fault": {"status": 429, "retry_after": header}}, OK) as w:
        with pytest.raises(ModelUnavailableError, match="300 s") as caught:
            w.chat.complete(HELLO)
        assert len(w.model.requests) == 1
    assert "Repeat the command later" in caught.value.next_step


def test_no_retries_means_one_try() -> None:
    """`retries` 0 sends the request once."""
    with (
        world({"fault": {"status": 500}}, OK, retries=0) as w,
        pytest.raises(ModelUnavailableError, match="tried once"),
    ):
        w.chat.complete(HELLO)
    assert len(w.model.requests) == 1


@pytest.mark.parametrize(
    ("reply", "seen"),
    [
        ({"fault": {"close": True}}, "was working, but the connection failed"),
        ({"fault": {"cut": True}, "text": "Hi."}, "was working, but the connection failed"),
        ({"fault": {"html": True, "status": 502}}, "502 Bad Gateway"),
        ({"fault": {"empty_choices": True}}, "no choices"),
    ],
)
def test_a_broken_reply_is_tried_again_and_then_shown(reply: dict[str, Any], seen: str) -> None:
    """No reply, half of one, HTML, and a reply without choices are retried; the error shows what came."""
    with world(reply, OK, retries=1) as w:
        assert w.chat.complete(HELLO).text == "Hi."
    with world(reply, then="repeat", retries=1) as w, pytest.raises(ModelUnavailableError, match=seen):
        w.chat.complete(HELLO)
    assert len(w.model.requests) == 2


def test_a_refused_connection_is_an_unavailable_model() -> None:
    """An endpoint that is not there is retried, then named with its host and variable."""
    with world(OK) as gone:
        settings = ModelSettings(name="scripted", base_url=gone.model.base_url, retries=1)
    clock = FixedClock()
    with pytest.raises(ModelUnavailableError, match="OPENAI_BASE_URL") as caught:
        ModelChat(settings, clock=clock, env={}).complete(HELLO)
    assert len(clock.slept) == 1
    assert "refused" in str(caught.value)


CONTEXT_TEXTS = [
    "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens (809 in the messages).",
    "'max_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and your request has 99.",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "the input length exceeds the context length",
    "prompt too long; exceeded max context length by 12 tokens",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Please reduce the length of the messages or completion.",
]


@pytest.mark.parametrize("text", CONTEXT_TEXTS)
def test_a_context_length_error_is_its_own_error_at_once(text: str) -> None:
    """The texts of vLLM, llama.cpp, Ollama, Azure and others raise ContextLengthError without a retry."""
    with world(refusal(text), OK) as w, pytest.raises(ContextLengthError):
        w.chat.complete(HELLO)
    assert len(w.model.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        refusal("Too much.", code="context_length_exceeded"),
        refusal("Too much.", type="exceed_context_size_error"),
        refusal("Context size has been exceeded.", 500),
        refusal("Request Entity Too Large", 413),
        refusal("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.", 429),
    ],
)
def test_context_length_is_known_by_code_and_whatever_the_status(reply: dict[str, Any]) -> None:
    """The code is enough, and servers that answer 500, 413 or 429 mean the same."""
    with world(reply, OK) as w, pytest.raises(ContextLengthError):
        w.chat.complete(HELLO)


def test_numbers_in_a_text_are_no_status() -> None:
    """A refusal that speaks of 8500 tokens and of 429 is still a refusal."""
    with world(refusal("max 8500 tokens; see error 429 and 500"), OK) as w, pytest.raises(ModelRefusedError):
        w.chat.complete(HELLO)


def test_an_error_with_status_200_is_judged_by_its_code() -> None:
    """Gateways send errors as 200 with a code in the body."""
    with world(refusal("Bad gateway.", 200, code=502), refusal("No.", 200, code=401)) as w:
        with pytest.raises(ModelRefusedError, match="HTTP 401"):
            w.chat.complete(HELLO)
        assert len(w.clock.slept) == 1
    exceeded = refusal("the request exceeds the available context size", 200, code=400)
    with world(exceeded) as w, pytest.raises(ContextLengthError):
        w.chat.complete(HELLO)


def test_the_key_is_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    """An endpoint that echoes the key gets it into no message, wait, traceback or log."""
    caplog.set_level(logging.DEBUG)
    echo = f"Incorrect key {KEY} in Bearer {KEY}"
    with world({"fault": {"status": 500, "body": echo}}, refusal(echo, 401)) as w:
        with pytest.raises(ModelError) as caught:
            w.chat.complete(HELLO)
        assert w.model.authorizations == [f"Bearer {KEY}"] * 2
    shown = [str(caught.value), repr(caught.value), *traceback.format_exception(caught.value), *w.waits, caplog.text]
    assert KEY not in "\n".join([*shown, repr(w.chat.endpoint)])
    assert "***" in str(caught.value)


def test_a_wait_can_be_interrupted() -> None:
    """What the clock raises while waiting ends the request."""

    class Impatient(FixedClock):
        def sleep(self, seconds: float) -> None:
            raise KeyboardInterrupt

    with world({"fault": {"status": 503}}, OK) as w, pytest.raises(KeyboardInterrupt):
        settings = ModelSettings(name="scripted", base_url=w.model.base_url)
        ModelChat(settings, clock=Impatient(), env={}).complete(HELLO)


@pytest.mark.parametrize(
    ("settings", "env", "named"),
    [
        ({"name": "m"}, {}, ["OPENAI_API_KEY", "OPENAI_BASE_URL"]),
        ({"name": "m"}, {"OPENAI_API_KEY": "  "}, ["OPENAI_API_KEY"]),
        ({"name": "m", "api_key_env": "MY_KEY"}, {"OPENAI_API_KEY": KEY}, ["MY_KEY"]),
        ({"name": ""}, {"OPENAI_API_KEY": KEY}, ["ORCHESTRATE_MODEL"]),
        ({"name": "m"}, {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "not a url"}, ["OPENAI_BASE_URL"]),
        ({"name": "m"}, {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://[::1"}, ["OPENAI_BASE_URL"]),
        ({"name": "m"}, {"OPENAI_API_KEY": "two\nlines"}, ["OPENAI_API_KEY"]),
        ({"name": "m"}, {"OPENAI_API_KEY": "clé"}, ["OPENAI_API_KEY"]),
        ({"name": "m", "extra": {"stream": True}}, {"OPENAI_API_KEY": KEY}, ["stream"]),
    ],
)
def test_settings_that_cannot_work_are_the_users_to_change(
    settings: dict[str, Any], env: dict[str, str], named: list[str]
) -> None:
    """No key, no model, no URL: exit code 2, and the variable is named, never its value."""
    with pytest.raises(UserError) as caught:
        ModelChat(ModelSettings(**settings), clock=FixedClock(), env=env)
    assert caught.value.exit_code == 2
    assert all(name in str(caught.value) for name in named)
    assert not [value for value in env.values() if value.strip() and value in str(caught.value)]
