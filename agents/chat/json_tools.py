"""Tool calls as JSON in the text: for endpoints without native tool calls, and for models that write them there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.chat.call_ids import new_call_id
from agents.chat.port import ChatRequest, Message, ToolSchema
from agents.chat.wire import objects, plain_text
from agents.preambles import render_preamble
from orchestrator.domain.model_io import ToolCall

MAX_TEXT_CHARS = 400_000
MAX_STARTS = 400  # places where a JSON value may begin; bounds the work on hostile text

_NAMES = ("tool", "name", "tool_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_DECODER = json.JSONDecoder()


def asked_call(call_id: str, name: str, arguments: Any) -> ToolCall:
    """A call as a model sent it, with a fresh id where it brings none; `arguments` are JSON text, or a value."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(call_id=call_id or new_call_id(), tool=name, arguments_json=written)


def tool_calls_in_text(text: str) -> tuple[ToolCall, ...]:
    """Every tool call that stands in a reply's text, in order: bare, fenced, in tags or in a list, as
    {"tool"|"name", "arguments"|"parameters"} or in the API's own {"function": {...}} and {"tool_calls": [...]} forms.
    JSON that is no call is passed over."""
    return tuple(call for value in json_values(text) for call in _readable_calls(value))


def json_values(text: str) -> Iterator[Any]:
    """The outermost JSON objects and arrays of a text."""
    text, position, starts = text[:MAX_TEXT_CHARS], 0, 0
    while starts < MAX_STARTS and (begin := _next_start(text, position)) >= 0:
        starts += 1
        try:
            value, position = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            position = begin + 1
        else:
            yield value


def _next_start(text: str, position: int) -> int:
    found = [at for at in (text.find("{", position), text.find("[", position)) if at >= 0]
    return min(found, default=-1)


def _readable_calls(value: Any) -> tuple[ToolCall, ...]:
    """None in a value that is nested just too deep to be looked through or written out again."""
    try:
        return tuple(_calls_of(value))
    except RecursionError:
        return ()


def _calls_of(value: Any) -> Iterator[ToolCall]:
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield from _calls_of(item)
    elif isinstance(value, dict):
        if isinstance(value.get("tool_calls"), list):
            yield from _calls_of(value["tool_calls"])
        elif (call := _call_of(value)) is not None:
            yield call


def _call_of(value: Mapping[str, Any]) -> ToolCall | None:
    inner = value.get("function")
    if isinstance(inner, dict):
        return _call_of(inner)
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    arguments = next((value[key] for key in _ARGUMENTS if key in value), None)
    if not name or not isinstance(arguments, str | dict):
        return None
    return asked_call("", name, arguments)


def as_text_request(request: ChatRequest) -> ChatRequest:
    """The same request for an endpoint without tool calls: tools are described in the system text, calls and results
    are plain messages. The messages' prefix stays as stable as the request's own."""
    messages, passing = [_as_text_message(message) for message in request.messages], request.passing
    if request.tools and messages:
        first = messages[0]
        if first["role"] == "system":
            messages[0] = {**first, "content": f"{first['content']}\n\n{tools_text(request.tools)}"}
        else:
            messages.insert(0, {"role": "system", "content": tools_text(request.tools)})
        if request.tool_choice not in ("auto", "none"):
            messages.append({"role": "user", "content": _choice_text(request.tool_choice)})
            passing += 1
    return ChatRequest(messages, passing=passing)


def tools_text(tools: Sequence[ToolSchema]) -> str:
    """How the tools are told to a model that knows none."""
    functions = [tool.get("function", tool) for tool in tools]
    described = "\n".join(
        f"- {function['name']}: {function.get('description', '')} "
        f"Arguments (JSON Schema): {json.dumps(function.get('parameters', {}), ensure_ascii=False)}"
        for function in functions
    )
    return render_preamble("overlays/json_tools", tools=described)


def _choice_text(choice: str) -> str:
    called = "a tool call" if choice == "required" else f"a call of {choice}"
    return render_preamble("overlays/json_call_now", call=called)


def _as_text_message(message: Message) -> Message:
    if message["role"] == "tool":
        return {
            "role": "user",
            "content": f"Result of {message.get('tool_call_id', 'the call')}:\n{message['content']}",
        }
    asked = [_written_call(*call) for call in _said_calls(message)]
    if not asked:  # what came over a wire of items or blocks goes back so
        plain = isinstance(message.get("content") or "", str) and "output" not in message
        return {"role": message["role"], "content": message.get("content") or ""} if plain else message
    written = json.dumps(asked[0] if len(asked) == 1 else {"tool_calls": asked}, ensure_ascii=False)
    return {"role": "assistant", "content": "\n".join(part for part in (_said_text(message), written) if part)}


def _said_text(message: Message) -> str:
    items = objects(message.get("output")) or (message,)
    told = (plain_text(item.get("content")) for item in items if item.get("type") != "reasoning")
    return "\n".join(filter(None, told))


def _said_calls(message: Message) -> Iterator[tuple[Any, Any, Any]]:
    """The (id, name, arguments) of the calls in an assistant's message of any wire."""
    for call in objects(message.get("tool_calls")):
        yield call["id"], call["function"]["name"], call["function"]["arguments"]
    for item in (*objects(message.get("output")), *objects(message.get("content"))):
        if item.get("type") in ("function_call", "tool_use"):
            yield item.get("call_id") or item.get("id"), item.get("name"), item.get("arguments") or item.get("input")


def _written_call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    try:
        value = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        value = arguments
    return {"tool": name, "arguments": value, "id": call_id}
