"""Estimates, the token bucket, and tool calls in a text: values without a wire."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.chat.completions import Completions
from agents.chat.endpoint import model_endpoint
from agents.chat.estimate import Estimator, text_tokens
from agents.chat.failures import MalformedReplyError
from agents.chat.json_tools import tool_calls_in_text
from agents.chat.limiter import TokenBucket
from agents.chat.sdk import certificates
from agents.chat.wire import decode_reply
from orchestrator.config.settings import ModelSettings

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(
    per_hour=st.floats(1, 100_000),
    burst=st.floats(1, 50),
    gaps=st.lists(st.floats(0, 100), min_size=1, max_size=40),
)
def test_the_bucket_never_grants_more_than_burst_and_rate(per_hour: float, burst: float, gaps: list[float]) -> None:
    """In any span of t seconds at most burst + t * rate requests begin."""
    bucket, now, granted = TokenBucket(per_hour, burst), 0.0, list[float]()
    for gap in gaps:
        now += gap
        granted.append(now + bucket.reserve(now))
    for first, begin in enumerate(granted):
        for last in range(first, len(granted)):
            allowed = burst + (granted[last] - begin) * per_hour / 3600
            assert last - first + 1 <= allowed + 1e-6


@given(per_hour=st.floats(1, 100_000), idle=st.floats(0, 1e6))
def test_a_full_bucket_grants_at_once(per_hour: float, idle: float) -> None:
    """Who comes first does not wait."""
    assert TokenBucket(per_hour).reserve(idle) == 0


@pytest.mark.parametrize(
    ("text", "at_least", "at_most"),
    [
        ("The quick brown fox jumps over the lazy dog. " * 20, 200, 340),  # 10 tokens a sentence
        ("def add(left: int, right: int) -> int:\n    return left + right\n" * 20, 400, 700),  # 20 a function
        ("2026-01-01 12:00:00.123 " * 20, 200, 500),
        ("3f9a2bc4d5e6f708" * 20, 180, 400),
        ("你好世界" * 50, 200, 320),
        ("Привет, мир! " * 50, 200, 700),
        ("🎉" * 50, 50, 150),
        ("", 0, 0),
    ],
)
def test_an_estimate_is_on_the_high_side_and_not_absurd(text: str, at_least: int, at_most: int) -> None:
    """At least what common tokenizers count, at most about twice that."""
    assert at_least <= text_tokens(text) <= at_most


class Counted(Mapping[str, Any]):
    """A message that counts how often it is read."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value, self.reads = value, 0

    def __getitem__(self, key: str) -> Any:
        self.reads += 1
        return self.value[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.value)

    def __len__(self) -> int:
        return len(self.value)


def test_an_estimate_reads_only_what_is_new() -> None:
    """A message that was estimated is not read again, and the sum is what a fresh estimate gives."""
    messages = [Counted({"role": "user", "content": f"text {n}"}) for n in range(50)]
    estimator = Estimator()
    before = estimator.request(messages)
    reads = [message.reads for message in messages]
    new = Counted({"role": "user", "content": "more"})
    after = estimator.request([*messages, new])
    assert [message.reads for message in messages] == reads
    assert before < after == Estimator().request([*messages, new])


@given(st.lists(st.text(), max_size=5), st.text())
def test_an_estimate_grows_with_every_message(contents: list[str], more: str) -> None:
    """No message is free, whatever it holds."""
    messages = [{"role": "user", "content": content} for content in contents]
    assert Estimator().request([*messages, {"role": "user", "content": more}]) > Estimator().request(messages)


def test_tool_calls_and_schemas_count() -> None:
    """Arguments of calls and tool schemas are part of the prompt."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "x" * 3500}}
    assert Estimator().request([{"role": "assistant", "content": None, "tool_calls": [call]}]) >= 1000
    assert Estimator().request([], [{"type": "function", "function": {"name": "f", "description": "y" * 3500}}]) >= 1000


SIGNED = "aB3/" * 1_000  # 4,000 characters that nobody reads: 1,000 tokens


@pytest.mark.parametrize(
    "said",
    [
        {
            "reasoning_content": "think " * 100,
            "tool_calls": [
                {
                    "id": "c",
                    "extra_content": {"google": {"thought_signature": SIGNED}},
                    "function": {"name": "f", "arguments": "x" * 3_500},
                }
            ],
        },
        {
            "output": [
                {"type": "reasoning", "summary": [{"text": "think " * 100}], "encrypted_content": SIGNED},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "x" * 3_500},
            ]
        },
        {
            "content": [
                {"type": "thinking", "thinking": "think " * 100, "signature": SIGNED},
                {"type": "tool_use", "id": "c", "name": "f", "input": {"a": "x" * 3_500}},
            ]
        },
    ],
    ids=["chat", "responses", "messages"],
)
def test_what_came_over_any_wire_counts(said: dict[str, Any]) -> None:
    """Reasoning and arguments as texts, what is encrypted or signed by its length alone."""
    assert 2_172 <= Estimator().request([{"role": "assistant", **said}]) <= 2_250


def test_nothing_nests_too_deep_to_be_estimated() -> None:
    """Whatever a model sends."""
    deep: Any = "x"
    for _ in range(5_000):
        deep = [{"a": deep}]
    assert Estimator().request([{"role": "assistant", "output": deep}]) > 0


CALL = {"tool": "read_file", "arguments": {"path": "a"}}
FORMS = [
    json.dumps(CALL),
    f"Sure!\n```json\n{json.dumps(CALL, indent=2)}\n```\nDone.",
    f"<tool_call>{json.dumps({'name': 'read_file', 'arguments': {'path': 'a'}})}</tool_call>",
    json.dumps({"name": "read_file", "parameters": {"path": "a"}}),
    json.dumps({"function": {"name": "read_file", "arguments": '{"path": "a"}'}, "type": "function", "id": "x"}),
    json.dumps({"tool_calls": [{"function": {"name": "read_file", "arguments": {"path": "a"}}}]}),
    json.dumps([CALL]),
    f"braces {{ like [ these first: {json.dumps(CALL)} }}",
]


@pytest.mark.parametrize("text", FORMS)
def test_a_call_in_a_text_is_found_in_every_form(text: str) -> None:
    """Bare, fenced, tagged, listed, in the API's form and after stray braces."""
    (call,) = tool_calls_in_text(text)
    assert (call.tool, json.loads(call.arguments_json)) == ("read_file", {"path": "a"})


@pytest.mark.parametrize(
    "text", ["", "no JSON", '{"name": "x"}', '{"arguments": {}}', '[1, "a"]', '{"tool": 3, "arguments": {}}']
)
def test_json_that_is_no_call_is_passed_over(text: str) -> None:
    """A name without arguments, or arguments without a name, is not a call."""
    assert tool_calls_in_text(text) == ()


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[a-z_]{1,20}", fullmatch=True), st.dictionaries(st.text(max_size=5), JSON, max_size=3)
        ),
        max_size=4,
    )
)
def test_calls_in_a_text_keep_order_and_arguments(calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Each call between words comes back as it was written, with an id of its own."""
    text = "\nThen:\n".join(json.dumps({"tool": name, "arguments": arguments}) for name, arguments in calls)
    found = tool_calls_in_text(text)
    assert [(call.tool, json.loads(call.arguments_json)) for call in found] == calls
    assert len({call.call_id for call in found}) == len(calls)


@given(st.text(alphabet='{}[]":,a1\\ \n'))
def test_no_text_breaks_the_search_for_calls(text: str) -> None:
    """Whatever a model writes, the answer is calls or none."""
    assert isinstance(tool_calls_in_text(text), tuple)


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000, "{" * 400_000])
def test_hostile_nesting_is_no_call(text: str) -> None:
    """Depth that no parser stands ends the search, not the program."""
    assert tool_calls_in_text(text) == ()


@given(JSON)
def test_any_json_is_a_completion_or_malformed(value: Any) -> None:
    """No reply of an endpoint raises anything but MalformedReplyError."""
    for reply in (value, {"choices": value}, {"choices": [value]}, {"choices": [{"message": value}]}):
        for body in (reply, {"choices": [{"message": {"tool_calls": value, "content": value}}], "usage": value}):
            try:
                Completions().reply(decode_reply(json.dumps(body).encode()))
            except MalformedReplyError:
                continue


def test_calls_without_ids_or_with_the_same_get_their_own() -> None:
    """Servers that send no id, or one id twice, or arguments as an object, are understood."""
    calls = [{"function": {"name": "f", "arguments": {"a": 1}}}, {"id": "x", "function": {"name": "g"}}] * 2
    found = Completions().reply({"choices": [{"message": {"tool_calls": calls}}]}).calls
    assert len({call.call_id for call in found}) == 4
    assert [call.arguments_json for call in found] == ['{"a": 1}', "{}"] * 2


@pytest.mark.parametrize(
    ("address", "read"),
    [
        ("http://127.0.0.1:8000/v1", False),
        ("http://[::1]/v1", False),
        ("https://localhost/v1", True),
        ("http://models.example.org/v1", True),
        ("https://api.openai.com/v1", True),
    ],
)
def test_certificates_are_read_unless_no_connection_is_encrypted(address: str, read: bool) -> None:
    """Plain HTTP to this machine needs none, and then nobody is trusted; before another host a proxy may stand."""
    settings = ModelSettings(name="m", base_url=address, api_key_env="KEY")
    trusted = certificates(model_endpoint(settings, {"KEY": "sk-0123456789"}))
    assert trusted is True if read else isinstance(trusted, ssl.SSLContext) and trusted.get_ca_certs() == []
