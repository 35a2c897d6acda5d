"""OpenAI's Responses, as the scripted model speaks them: reasoning goes out sealed and is checked on its way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.chat.wire import Json
from agents.scripted.form import (
    SIGNED,
    AskedReply,
    BadRequestError,
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

_CUTS: Mapping[str | None, str] = {"length": "max_output_tokens", "content_filter": "content_filter"}
_SAID = ("message", "function_call")


class ResponsesForm:
    """POST /v1/responses (ScriptedForm), without anything kept between requests."""

    api: ApiName = "responses"
    path = "/responses"

    def asked(self, body: Json) -> AskedReply:
        """Instructions, input items and tools."""
        given = body.get("input")
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        items = listed_objects(items, "Invalid type for 'input': expected a text or a list of items.")
        _check_reasoning(items)
        _check_pairs(items)
        instructions = body.get("instructions")
        system = str(instructions) if instructions else first_text(items, "system") or first_text(items, "developer")
        return AskedReply(
            model=str(body.get("model") or "scripted"),
            system=system,
            assignment=first_text(items, "user"),
            tools=frozenset(str(tool.get("name")) for tool in body.get("tools") or () if isinstance(tool, dict)),
            items=[{"instructions": instructions}, *items] if instructions else items,
            streamed=body.get("stream") is True,
        )

    def whole(self, turn: ScriptedTurn) -> dict[str, Any]:
        """A response with all of its output."""
        cut = _CUTS.get(turn.reply.finish_reason)
        return {
            "id": f"resp_{turn.number}",
            "object": "response",
            "created_at": 0,
            "status": "incomplete" if cut else "completed",
            "error": None,
            "incomplete_details": {"reason": cut} if cut else None,
            "model": turn.model,
            "output": [] if turn.empty else [*_output(turn)],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "store": False,
            **({"usage": _usage(turn.tokens)} if turn.tokens else {}),
        }

    def events(self, whole: Json, _asked: AskedReply) -> Iterator[StreamEvent]:
        """The response as it begins, its items piece by piece, and all of it again at the end."""
        begun = {**whole, "status": "in_progress", "output": [], "incomplete_details": None, "usage": None}
        told = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
            *(event for index, item in enumerate(whole["output"]) for event in _item_events(index, item)),
            {"type": f"response.{whole['status']}", "response": whole},
        ]
        for number, event in enumerate(told):
            yield StreamEvent(event["type"], {**event, "sequence_number": number})

    def error(self, message: str, *, kind: str, code: str | None = None, param: str | None = None) -> Json:
        """As OpenAI has it."""
        return openai_error(message, kind=kind, code=code, param=param)


# --- the request -------------------------------------------------------------------------------------------------


def _check_reasoning(items: Sequence[Json]) -> None:
    """Raises BadRequestError, in the provider's words, for reasoning that is missing, changed or alone."""
    seen: set[str] = set()
    for item, following in zip(items, [*items[1:], {}], strict=True):
        item_id, kind = str(item.get("id")), item.get("type")
        if kind == "reasoning":
            _check_seal(item, item_id)
            if following.get("type") not in (*_SAID, "reasoning"):
                told = f"Item '{item_id}' of type 'reasoning' was provided without its required following item."
                raise BadRequestError(told, param="input")
            seen.add(item_id)
        elif item_id.endswith(SIGNED) and (needed := f"rs_{item_id.split('_')[1]}") not in seen:
            told = f"Item '{item_id}' of type '{kind}' was provided without its required 'reasoning' item: '{needed}'."
            raise BadRequestError(told, param="input")


def _check_seal(item: Json, item_id: str) -> None:
    encrypted = item.get("encrypted_content")
    if not encrypted:
        told = f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false."
        raise BadRequestError(told, param="input")
    if unsealed(encrypted) != item_id:
        shown = f"{str(encrypted)[:4]}...{str(encrypted)[-4:]}"
        raise BadRequestError(f"The encrypted content {shown} could not be verified.", "invalid_encrypted_content")


def _check_pairs(items: Sequence[Json]) -> None:
    """Raises BadRequestError for a call without its output, and for an output without its call."""
    calls = {str(item.get("call_id")) for item in items if item.get("type") == "function_call"}
    outputs = {str(item.get("call_id")) for item in items if item.get("type") == "function_call_output"}
    for call_id in sorted(calls - outputs):
        raise BadRequestError(f"No tool output found for function call {call_id}.", param="input")
    for call_id in sorted(outputs - calls):
        raise BadRequestError(f"No tool call found for function call output with call_id {call_id}.", param="input")


# --- the reply ---------------------------------------------------------------------------------------------------


def _output(turn: ScriptedTurn) -> Iterator[Json]:
    reply, end = turn.reply, SIGNED if turn.reply.reasoning else ""
    if reply.reasoning:
        named = f"rs_{turn.number}"
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        yield {"id": named, "type": "reasoning", "summary": summary, "encrypted_content": sealed(named)}
    status = "incomplete" if _CUTS.get(reply.finish_reason) else "completed"
    if reply.text or not (turn.calls or reply.reasoning):
        yield {
            "id": f"msg_{turn.number}{end}",
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": [_part(reply.text, refused=reply.finish_reason == "refusal")],
        }
    for number, (call_id, call) in enumerate(turn.calls):
        named = f"fc_{turn.number}_{number}{end}"
        asked = {"call_id": call_id, "name": call.tool, "arguments": call.arguments_json}
        yield {"id": named, "type": "function_call", "status": status, **asked}


def _part(text: str, *, refused: bool) -> Json:
    if refused:
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _usage(tokens: ScriptedTokens) -> Json:
    return {
        "input_tokens": tokens.prompt,
        "input_tokens_details": {"cached_tokens": tokens.cached, "cache_write_tokens": tokens.written},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.prompt + tokens.output,
    }


def _item_events(index: int, item: Json) -> Iterator[dict[str, Any]]:
    """The item as it begins, its text or arguments in halves, and the whole item."""
    empty: Mapping[str, dict[str, Any]] = {
        "message": {"content": []},
        "function_call": {"arguments": ""},
        "reasoning": {"encrypted_content": None},
    }
    begun = {**item, **empty[item["type"]], **({"status": "in_progress"} if "status" in item else {})}
    at = {"output_index": index, "item_id": item["id"]}
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    if item["type"] == "function_call":
        for half in halves(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **at, "delta": half}
        done = {"name": item["name"], "arguments": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **at, **done}
    for place, part in enumerate(item.get("content", ())):
        yield from _part_events({**at, "content_index": place}, part)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _part_events(at: Json, part: Json) -> Iterator[dict[str, Any]]:
    name = "refusal" if part["type"] == "refusal" else "text"
    kind = "response.refusal" if name == "refusal" else "response.output_text"
    more: Json = {} if name == "refusal" else {"logprobs": []}
    yield {"type": "response.content_part.added", **at, "part": {**part, name: ""}}
    for half in halves(part[name]):
        yield {"type": f"{kind}.delta", **at, "delta": half, **more}
    yield {"type": f"{kind}.done", **at, name: part[name], **more}
    yield {"type": "response.content_part.done", **at, "part": part}
