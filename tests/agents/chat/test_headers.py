"""Headers and a version beside the key: what is sent, what is kept secret, what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agents.chat.model_chat import ModelChat
from orchestrator.config.secrets import Redactor, secrets_of
from orchestrator.config.settings import ModelSettings, Settings
from orchestrator.domain.errors import ModelError, UserError
from tests.support.chat_world import HELLO, KEY, FixedClock
from tests.support.odd_endpoint import Answer, Asked, completion, odd_endpoint, response

VALUE = "azure-very-secret-0123"
API_KEY = {"api-key": "AZURE_OPENAI_API_KEY"}
ENV = {"AZURE_OPENAI_API_KEY": VALUE, "OPENAI_API_KEY": KEY, "TEAM": "team-seven"}


def asked_with(env: Mapping[str, str] = ENV, answer: Answer | None = None, **settings: Any) -> list[Asked]:
    """What an endpoint is sent by a chat with these settings."""
    with odd_endpoint(answer or (lambda asked: completion(asked, content="Hi."))) as endpoint:
        base_url = endpoint.base_url + settings.pop("below", "")
        made = ModelSettings.model_validate({"name": "m", "base_url": base_url, "retries": 0, "api": "chat"} | settings)
        chat = ModelChat(made, clock=FixedClock(), env=env)
        try:
            chat.complete(HELLO)
        except ModelError:
            if answer is None and made.api == "chat":
                raise
        chat.close()
    return endpoint.asked


def test_azure_is_spoken_to_by_its_header_and_its_older_address() -> None:
    """api-key alone, no Authorization with what OPENAI_API_KEY holds by chance; path and version as Azure has them."""
    (asked,) = asked_with(headers=API_KEY, api_version="2024-10-21", below="/openai/deployments/mine")
    assert asked.path == "/v1/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    assert (asked.headers["api-key"], "authorization" in asked.headers) == (VALUE, False)


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
def test_headers_and_version_go_out_on_every_wire(api: str) -> None:
    """And no key in any header where none is set."""
    if api == "messages":
        pytest.importorskip("anthropic")
    (asked,) = asked_with({"TEAM": "team-seven"}, api=api, headers={"X-Team": "TEAM"}, api_version="v2")
    assert asked.headers["x-team"] == "team-seven"
    assert asked.path.endswith("?api-version=v2")
    assert {"authorization", "x-api-key", "api-key"} & asked.headers.keys() == set()


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
def test_a_header_that_is_the_key_is_sent_once(api: str) -> None:
    """However it is written, in the place of ours."""
    if api == "messages":
        pytest.importorskip("anthropic")
    for name in ("authorization", "x-api-key"):
        (asked,) = asked_with(api=api, headers={name: "AZURE_OPENAI_API_KEY"})
        keys = {header: asked.headers[header] for header in ("authorization", "x-api-key") if header in asked.headers}
        assert keys == {name: VALUE}


@pytest.mark.parametrize(
    ("settings", "bearer"),
    [
        ({"headers": {"X-Team": "TEAM"}}, f"Bearer {KEY}"),
        ({"headers": API_KEY}, None),
        ({"headers": API_KEY, "api_key_env": "OPENAI_API_KEY"}, f"Bearer {KEY}"),
    ],
    ids=["a header that is no key", "one that is", "both by name"],
)
def test_the_key_goes_along_where_no_header_is_one_or_it_is_named(settings: dict[str, Any], bearer: str | None) -> None:
    """A key that nobody named for the endpoint is not sent beside another."""
    (asked,) = asked_with(**settings)
    assert asked.headers.get("authorization") == bearer


def test_a_value_is_nowhere() -> None:
    """An endpoint that echoes it gets it into no error and no snippet; the log's redactor knows it too."""
    settings = ModelSettings(name="m", base_url="http://127.0.0.1:1/v1", headers=API_KEY, retries=0)
    with odd_endpoint(lambda asked: response(400, {"message": f"Bad {asked.headers['api-key']}"})) as endpoint:
        made = settings.model_copy(update={"base_url": endpoint.base_url})
        chat = ModelChat(made, clock=FixedClock(), env=ENV)
        with pytest.raises(ModelError) as caught:
            chat.complete(HELLO)
        chat.close()
    assert VALUE not in f"{caught.value!r} {caught.value} {chat.endpoint!r}" and "***" in str(caught.value)
    whole = Settings.model_validate({"models": {"worker": {"headers": {"X-Odd": "PLAIN_NAME"}}}})
    assert Redactor(secrets_of(whole, {"PLAIN_NAME": "a-value-of-it"}))("say a-value-of-it") == "say ***"


@pytest.mark.parametrize(
    ("headers", "env", "named"),
    [
        (API_KEY, {}, "AZURE_OPENAI_API_KEY is not set, or not meant for this endpoint"),
        (API_KEY, {"AZURE_OPENAI_API_KEY": "two\nlines"}, "AZURE_OPENAI_API_KEY holds a character"),
        ({"Host": "TEAM"}, ENV, "may not contain Host"),
        ({"content-length": "TEAM"}, ENV, "may not contain content-length"),
    ],
)
def test_a_header_that_cannot_be_sent_is_the_users_to_change(
    headers: dict[str, str], env: dict[str, str], named: str
) -> None:
    """Its variable is named, never its value."""
    settings = ModelSettings(name="m", base_url="http://127.0.0.1:1/v1", headers=headers)
    with pytest.raises(UserError, match=named) as caught:
        ModelChat(settings, clock=FixedClock(), env=env)
    assert not [value for value in env.values() if value in str(caught.value)]
