"""The wire of OpenAI's Responses, without which OpenAI's reasoning models call no tools. vLLM, LM Studio, Ollama and
llama.cpp have one too.

Nothing is kept at the provider (`store: false`): what the model thought comes encrypted and goes back with the rest of
its reply, item by item. The system text goes as `instructions`: it is the one place that every server renders first,
before tools and input, where the prompt's cache begins, and needs no role that a chat template may not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from agents.chat.failures import MalformedReplyError
from agents.chat.port import ChatRequest, Message, ToolSchema
from agents.chat.sse import DONE
from agents.chat.wire import Json, RequestOptions, WireName, objects, plain_text, token_count, told_calls, told_usage
from orchestrator.domain.model_io import FinishReason, ModelReply, ToolCall

_ENCRYPTED = "reasoning.encrypted_content"
_STATUS_BY_END = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
    "error": "failed",
}
_CUT_BY_FILTER = "content_filter"


class Responses:
    """POST /responses (Wire). A reply's message is `{"role": "assistant", "output": [items as they came]}`."""

    name: WireName = "responses"
    path = "/responses"
    reply_name = "a response"

    def body(self, request: ChatRequest, options: RequestOptions) -> dict[str, Any]:
        """Instructions and input stand first: what grows is all that follows an earlier request's bytes."""
        body: dict[str, Any] = {"model": options.model}
        messages = request.messages
        # A JSON object is only given where the input, of which the instructions are no part, speaks of JSON.
        if messages and messages[0]["role"] == "system" and not options.json_object:
            body["instructions"] = messages[0]["content"]
            messages = messages[1:]
        body["input"] = list(chain.from_iterable(map(_input_items, messages)))
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            body["tool_choice"] = _choice(request.tool_choice, plain=not options.takes("tool_choice"))
        more: dict[str, Any] = {"store": False, "include": [_ENCRYPTED], "max_output_tokens": options.max_output_tokens}
        if options.temperature is not None:
            more["temperature"] = options.temperature
        if options.effort is not None:
            more["reasoning"] = {"effort": options.effort}
        if options.json_object:
            more["text"] = {"format": {"type": "json_object"}}
        if options.streams:
            more["stream"] = True
        return body | {name: value for name, value in more.items() if options.takes(name)}

    def said(self, reply: ModelReply) -> Message:
        """The items as they came. A call keeps its other fields where its id or arguments are others now; calls that do
        not count, which nobody will answer, and reasoning that the provider could not take back stay out."""
        came = objects(reply.message.get("output"))
        known = iter(reply.calls)
        called = (_called_as(item, next(known, None)) if _is_call(item) else item for item in came)
        items = _returnable([item for item in called if item])
        return reply.message if items == came else {**reply.message, "output": items}

    def reply(self, answer: Json) -> ModelReply:
        """Texts, refusals and calls of the output's items."""
        status, items = answer.get("status"), objects(answer.get("output"))
        if status not in (None, "completed", "incomplete"):
            raise MalformedReplyError(f"a response that is {str(status)[:40]}")
        if not items and status != "incomplete":
            raise MalformedReplyError("no output")
        calls = _calls(items)
        parts = [part for item in items if item.get("type") == "message" for part in objects(item.get("content"))]
        refused = any(part.get("type") == "refusal" for part in parts)
        return ModelReply(
            text=_text(items),
            calls=calls,
            finish_reason=_cut(answer) or ("tool_calls" if calls else "refusal" if refused else "stop"),
            model=str(answer.get("model") or ""),
            message={"role": "assistant", "output": items},
            **_usage(answer.get("usage")),
        )

    def joined(self, events: Sequence[Json]) -> Json:
        """The whole response that the last event brings; where it brings none, or one without its output, the items
        that came done."""
        last = next((event for event in reversed(events) if self.ends(event) and event is not DONE), None)
        done = [event["item"] for event in events if _brings_item(event)]
        if last is None and not (done and any(event is DONE for event in events)):
            raise MalformedReplyError("a stream that breaks off")
        ended = last or {}
        told = ended.get("response")
        whole = dict(told) if isinstance(told, dict) else {}
        whole["status"] = whole.get("status") or _STATUS_BY_END.get(str(ended.get("type")), "completed")
        whole["output"] = _encrypted_too(objects(whole.get("output")), done) or done
        if "response" not in ended and (ended.get("error") or ended.get("type") == "error"):
            whole["error"] = ended.get("error") or ended
        elif whole["status"] == "failed":
            whole["error"] = whole.get("error") or {"message": "The response failed; the endpoint does not say why."}
        return whole

    def ends(self, event: Json) -> bool:
        """The response's end, however it ended, or an error in its place."""
        return (
            event is DONE
            or str(event.get("type")) in _STATUS_BY_END
            or ("type" not in event and bool(event.get("error")))
        )

    def text(self, event: Json) -> str:
        """The delta of a text."""
        delta = event.get("delta") if event.get("type") == "response.output_text.delta" else None
        return delta if isinstance(delta, str) else ""


# --- the request -------------------------------------------------------------------------------------------------


def _input_items(message: Message) -> Iterator[Json]:
    """A message as the items that stand for it."""
    if "output" in message:
        yield from message["output"]
    elif message["role"] == "tool":
        yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}
    else:
        text = plain_text(message.get("content"))
        if text:
            yield {"role": message["role"], "content": text}
        for call in message.get("tool_calls") or ():
            function = call["function"]
            named = {"name": function["name"], "arguments": function["arguments"]}
            yield {"type": "function_call", "call_id": call["id"], **named}


def _tool(tool: ToolSchema) -> Json:
    """`strict` is true here unless it is said, and would turn optional arguments into a refusal."""
    return {"type": "function", "strict": False, **tool.get("function", {})}


def _choice(choice: str, *, plain: bool) -> str | dict[str, Any]:
    if choice in ("auto", "none"):
        return choice
    if plain:
        return "auto"
    return choice if choice == "required" else {"type": "function", "name": choice}


def _is_call(item: Json) -> bool:
    return item.get("type") == "function_call"


def _is_reasoning(item: Json) -> bool:
    return item.get("type") == "reasoning"


def _called_as(item: Json, known: ToolCall | None) -> Json:
    if known is None:
        return {}
    ours = {"call_id": known.call_id, "name": known.tool, "arguments": known.arguments_json}
    return item if ours.items() <= item.items() else {**item, **ours}


def _returnable(items: Sequence[Json]) -> list[Json]:
    """Without reasoning that nothing follows, which is refused; and without that of which only an id came, which is
    looked for in vain where nothing is kept: what followed it loses the id that asks for it."""
    kept = list(items)
    while kept and _is_reasoning(kept[-1]):
        kept.pop()
    if all(_can_be_read(item) for item in kept):
        return kept
    return [{name: item[name] for name in item if name != "id"} for item in kept if _can_be_read(item)]


def _can_be_read(item: Json) -> bool:
    return not _is_reasoning(item) or bool(item.get("encrypted_content") or item.get("content"))


# --- the reply ---------------------------------------------------------------------------------------------------


def _brings_item(event: Json) -> bool:
    return event.get("type") == "response.output_item.done" and isinstance(event.get("item"), dict)


def _encrypted_too(items: Sequence[Json], done: Sequence[Json]) -> list[Json]:
    """The whole response's items, reasoning with what only the item itself had brought."""
    brought = {str(item.get("id")): item["encrypted_content"] for item in done if item.get("encrypted_content")}
    return [
        {**item, "encrypted_content": brought[str(item.get("id"))]}
        if _is_reasoning(item) and not item.get("encrypted_content") and str(item.get("id")) in brought
        else item
        for item in items
    ]


def _calls(items: Sequence[Json]) -> tuple[ToolCall, ...]:
    return told_calls(
        [
            (item.get("call_id") or item.get("id"), item.get("name"), item.get("arguments"))
            for item in items
            if _is_call(item)
        ]
    )


def _text(items: Sequence[Json]) -> str:
    """The texts of the messages, or else what they say in refusal."""
    contents = [objects(item.get("content")) for item in items if item.get("type") == "message"]
    told = ("".join(str(part.get("text") or "") for part in parts) for parts in contents)
    refusals = (str(part.get("refusal") or "") for parts in contents for part in parts)
    return "\n\n".join(filter(None, told)) or "".join(refusals)


def _cut(answer: Json) -> FinishReason | None:
    """Why it ended before its end."""
    if answer.get("status") != "incomplete":
        return None
    details = answer.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return "content_filter" if reason == _CUT_BY_FILTER else "length"


def _usage(raw: Any) -> dict[str, Any]:
    usage = raw if isinstance(raw, dict) else {}
    prompt, output = usage.get("input_tokens_details"), usage.get("output_tokens_details")
    of_prompt, of_output = (part if isinstance(part, dict) else {} for part in (prompt, output))
    return told_usage(
        prompt=token_count(usage.get("input_tokens")),
        output=token_count(usage.get("output_tokens")),
        cached=token_count(of_prompt.get("cached_tokens")),
        cache_write=token_count(of_prompt.get("cache_write_tokens")),
        reasoning=token_count(of_output.get("reasoning_tokens")),
    )
