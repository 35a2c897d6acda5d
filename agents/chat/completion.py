"""From a reply's bytes to what it says: servers differ in what they leave out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agents.chat.failures import MalformedReplyError
from agents.chat.json_tools import new_call_id
from orchestrator.domain.model_io import ModelReply, ToolCall

_MOST_TOKENS = 10**9
"""More than any reply can use: a count beyond it is none, and the graph's integers hold it."""


def decode_reply(body: bytes) -> Mapping[str, Any]:
    """The reply as a JSON object. Raises MalformedReplyError."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedReplyError("not JSON" if body.strip() else "an empty body") from None
    if not isinstance(value, dict):
        raise MalformedReplyError(f"a JSON {type(value).__name__}, not an object")
    return value


def completion(reply: Mapping[str, Any]) -> ModelReply:
    """The first choice's message, `estimated` where no usage is reported. Raises MalformedReplyError without one."""
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise MalformedReplyError("no choices")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise MalformedReplyError("a choice without a message")
    calls = _tool_calls(message.get("tool_calls"))
    finish = choices[0].get("finish_reason") or ("tool_calls" if calls else "stop")
    return ModelReply(
        text=_text(message),
        calls=calls,
        finish_reason=str(finish),
        model=str(reply.get("model") or ""),
        **_usage(reply.get("usage")),
    )


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or message.get("refusal") or "")


def _tool_calls(raw: Any) -> tuple[ToolCall, ...]:
    """Every call with an id of its own: some servers send none, or the same one twice."""
    calls: list[ToolCall] = []
    seen: set[str] = set()
    for item in raw if isinstance(raw, list) else ():
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(function, dict):
            raise MalformedReplyError("a tool call without a function")
        call_id, given = str(item.get("id") or ""), function.get("arguments")
        if not call_id or call_id in seen:
            call_id = new_call_id()
        seen.add(call_id)
        written = given if isinstance(given, str) else "" if given is None else json.dumps(given)
        name = str(function.get("name") or "")
        calls.append(ToolCall(call_id=call_id, tool=name, arguments_json=written or "{}"))
    return tuple(calls)


def _usage(raw: Any) -> dict[str, Any]:
    """The endpoint's own count of tokens, as a reply's fields."""
    usage = raw if isinstance(raw, dict) else {}
    prompt, output = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or output is None:
        return {"estimated": True}
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    if cached is None:
        cached = _count(usage.get("prompt_cache_hit_tokens"))  # DeepSeek's name for it
    return {"prompt_tokens": prompt, "cached_tokens": min(cached or 0, prompt), "completion_tokens": output}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None
