"""From a reply's bytes to what it says. Servers differ in what they leave out; what is no completion is malformed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.chat.json_tools import new_call_id
from agents.chat.port import RawToolCall

_MOST_TOKENS = 10**9
"""More than any reply can use: a count beyond it is none, and the graph's integers hold it."""


class MalformedReplyError(Exception):
    """The reply is no chat completion; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """The endpoint's own count of tokens."""

    prompt: int
    cached: int
    completion: int


@dataclass(frozen=True, slots=True)
class Completion:
    """The parts of a reply that we use. `usage` is None where the endpoint reported none."""

    text: str
    tool_calls: tuple[RawToolCall, ...]
    finish_reason: str
    model: str
    usage: ReportedUsage | None


def decode_reply(body: bytes) -> Mapping[str, Any]:
    """The reply as a JSON object. Raises MalformedReplyError."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedReplyError("not JSON" if body.strip() else "an empty body") from None
    if not isinstance(value, dict):
        raise MalformedReplyError(f"a JSON {type(value).__name__}, not an object")
    return value


def completion(reply: Mapping[str, Any]) -> Completion:
    """The first choice's message. Raises MalformedReplyError where it is missing."""
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise MalformedReplyError("no choices")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise MalformedReplyError("a choice without a message")
    calls = _tool_calls(message.get("tool_calls"))
    finish = choices[0].get("finish_reason") or ("tool_calls" if calls else "stop")
    return Completion(
        text=_text(message),
        tool_calls=calls,
        finish_reason=str(finish),
        model=str(reply.get("model") or ""),
        usage=_usage(reply.get("usage")),
    )


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or message.get("refusal") or "")


def _tool_calls(raw: Any) -> tuple[RawToolCall, ...]:
    """Every call with an id of its own: some servers send none, or the same one twice."""
    calls: list[RawToolCall] = []
    seen: set[str] = set()
    for item in raw if isinstance(raw, list) else ():
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(function, dict):
            raise MalformedReplyError("a tool call without a function")
        call_id = str(item.get("id") or "")
        if not call_id or call_id in seen:
            call_id = new_call_id()
        seen.add(call_id)
        calls.append(RawToolCall(call_id, str(function.get("name") or ""), _arguments(function.get("arguments"))))
    return tuple(calls)


def _arguments(raw: Any) -> str:
    if raw is None or raw == "":
        return "{}"
    return raw if isinstance(raw, str) else json.dumps(raw)


def _usage(raw: Any) -> ReportedUsage | None:
    if not isinstance(raw, dict):
        return None
    prompt, output = _count(raw.get("prompt_tokens")), _count(raw.get("completion_tokens"))
    if prompt is None or output is None:
        return None
    details = raw.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    if cached is None:
        cached = _count(raw.get("prompt_cache_hit_tokens"))  # DeepSeek's name for it
    return ReportedUsage(prompt, min(cached or 0, prompt), output)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None
