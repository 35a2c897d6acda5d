"""Chat completions, as the scripted model speaks them. Calls of a reply with reasoning are signed as Gemini 3 does it:
the first of them, which is refused without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.chat.wire import Json
from agents.scripted.form import (
    SIGNED,
    AskedReply,
    BadRequestError,
    NumberedCall,
    ScriptedTokens,
    ScriptedTurn,
    StreamEvent,
    first_text,
    halves,
    listed_objects,
    openai_error,
)
from agents.scripted.script import ApiName
from agents.scripted.signatures import sealed, unsealed


class ChatForm:
    """POST /v1/chat/completions (ScriptedForm)."""

    api: ApiName = "chat"
    path = "/chat/completions"

    def asked(self, body: Json) -> AskedReply:
        """Messages and tools."""
        messages = listed_objects(body.get("messages"), "The request has no list of messages.")
        for message in messages:
            _check_signature(message.get("tool_calls"))
        options = body.get("stream_options")
        return AskedReply(
            model=str(body.get("model") or "scripted"),
            system=first_text(messages, "system"),
            assignment=first_text(messages, "user"),
            tools=_offered(body.get("tools") or ()),
            items=messages,
            streamed=body.get("stream") is True,
            usage=isinstance(options, dict) and bool(options.get("include_usage")),
        )

    def whole(self, turn: ScriptedTurn) -> dict[str, Any]:
        """A chat completion of one choice."""
        message: dict[str, Any] = {"role": "assistant", "content": turn.reply.text or None}
        if turn.reply.reasoning:
            message["reasoning_content"] = turn.reply.reasoning
        if turn.calls:
            message["tool_calls"] = [_tool_call(call) for call in turn.calls]
        if turn.calls and turn.reply.reasoning:
            message["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": sealed("thought")}}
        finish = turn.reply.finish_reason or ("tool_calls" if turn.calls else "stop")
        body: dict[str, Any] = {
            "id": f"chatcmpl-{turn.number}",
            "object": "chat.completion",
            "created": 0,
            "model": turn.model,
            "choices": [] if turn.empty else [{"index": 0, "finish_reason": finish, "message": message}],
        }
        return body | ({"usage": _usage(turn.tokens)} if turn.tokens else {})

    def events(self, whole: Json, asked: AskedReply) -> Iterator[StreamEvent]:
        """Deltas; the usage last, where it was asked for and there is one; then [DONE]."""
        for chunk in _chunks(whole, usage=asked.usage):
            yield StreamEvent("", chunk)
        yield StreamEvent("", "[DONE]")

    def error(self, message: str, *, kind: str, code: str | None = None, param: str | None = None) -> Json:
        """As OpenAI has it."""
        return openai_error(message, kind=kind, code=code, param=param)


def _check_signature(calls: Any) -> None:
    """Raises BadRequestError, in Gemini's words, for a signature that is missing or changed."""
    first = calls[0] if isinstance(calls, list) and calls and isinstance(calls[0], dict) else {}
    signature = _within(first, "extra_content", "google", "thought_signature")
    if signature is None and str(first.get("id")).endswith(SIGNED):
        told = "Function call is missing a thought_signature in functionCall parts. This is required for tools to work"
        raise BadRequestError(f"{told} correctly. Additional data, function call `{first['id']}`.", "INVALID_ARGUMENT")
    if signature is not None and unsealed(signature) is None:
        raise BadRequestError("Corrupted thought signature.", "INVALID_ARGUMENT")


def _within(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _offered(tools: Sequence[Any]) -> frozenset[str]:
    functions = [tool.get("function") for tool in tools if isinstance(tool, dict)]
    return frozenset(str(function.get("name")) for function in functions if isinstance(function, dict))


def _tool_call(numbered: NumberedCall) -> dict[str, Any]:
    function = {"name": numbered.call.tool, "arguments": numbered.call.arguments_json}
    return {"id": numbered.call_id, "type": "function", "function": function}


def _usage(tokens: ScriptedTokens) -> dict[str, Any]:
    return {
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.prompt + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }


def _chunks(completion: Json, *, usage: bool) -> Iterator[Json]:
    around = {name: completion[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    for choice in completion["choices"]:
        for delta in _deltas(choice["message"]):
            yield {**around, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield {**around, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if usage and "usage" in completion:
        yield {**around, "choices": [], "usage": completion["usage"]}


def _deltas(message: Mapping[str, Any]) -> Iterator[Json]:
    """The role, then text and arguments in halves, a call's id and name ahead of its arguments."""
    yield {"role": message["role"], "content": None}
    for half in halves(message.get("reasoning_content", "")):
        yield {"reasoning_content": half}
    for half in halves(message["content"] or ""):
        yield {"content": half}
    for index, call in enumerate(message.get("tool_calls", ())):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{"index": index, **call, "function": function}]}
        for half in halves(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": half}}]}
