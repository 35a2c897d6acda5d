"""The wire of Anthropic's Messages, which llama.cpp, vLLM, Ollama, OpenRouter and others speak too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents.chat.failures import MalformedReplyError
from agents.chat.message_blocks import (
    BLANK,
    call_input,
    is_blank_text,
    message_blocks,
    opens_with_thinking,
    system_blocks,
    tool_definitions,
    with_marks,
)
from agents.chat.message_events import joined_message
from agents.chat.port import ChatRequest, Message
from agents.chat.refusal import MARK
from agents.chat.wire import Json, RequestOptions, WireName, objects, token_count, told_calls, told_usage
from orchestrator.domain.errors import ContextLengthError
from orchestrator.domain.model_io import FinishReason, ModelReply, ToolCall

LEAST_BUDGET = 1_024
"""Tokens of thinking below which the API takes no budget."""

_ANSWER = 1_024  # tokens of a reply that a budget leaves for what is said and called
_FINISHED: Mapping[str, FinishReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "pause_turn": "pause",
}
_CUT_HERE = " … cut off here"
_EFFORTS = {"minimal": "low"}  # the API's lowest


class Messages:
    """POST /v1/messages (Wire). The port's messages become content blocks; a reply's blocks go back as they came."""

    name: WireName = "messages"
    path = "/messages"
    reply_name = "a message"

    def body(self, request: ChatRequest, options: RequestOptions) -> dict[str, Any]:
        """What stays the same between requests comes first, in the order in which the provider's cache has it; the
        marks move, and only what stands before the passing messages is marked. Temperatures end at 1 here."""
        body: dict[str, Any] = {"model": options.model}
        if request.tools:
            body["tools"] = tool_definitions(request.tools)
        marks = options.takes(MARK)
        if system := system_blocks(request.messages, marks=marks):
            body["system"] = system
        kept = len(request.messages) - request.passing
        said = message_blocks(request.messages[:kept])
        body["messages"] = [*(with_marks(said) if marks else said), *message_blocks(request.messages[kept:])]
        body["max_tokens"] = options.max_output_tokens
        body |= _reasoning(options, may_think=opens_with_thinking(said))
        thinks = body.get("thinking", {}).get("type") in ("enabled", "adaptive")
        if request.tools:
            body["tool_choice"] = _tool_choice(request.tool_choice, free=thinks or not options.takes("tool_choice"))
        if options.temperature is not None and not thinks and options.takes("temperature"):
            body["temperature"] = min(options.temperature, 1.0)
        if options.streams:
            body["stream"] = True
        return body

    def said(self, reply: ModelReply) -> Message:
        """The blocks as they came, but for ids and inputs of calls that are others now, for calls that are none (nobody
        will answer them), and for empty texts, which the API sends and refuses."""
        known = iter(reply.calls)
        content = []
        for block in objects(reply.message.get("content")):
            if block.get("type") == "tool_use":
                content += [_known_as(block, call) for call in (next(known, None),) if call]
            elif not is_blank_text(block):
                content.append(block)
        return {**reply.message, "content": content or [BLANK]}

    def reply(self, answer: Json) -> ModelReply:
        """The message's blocks. A full context window that left room for nothing is a request that was too long, which
        a smaller window helps; with text or calls it is a cut reply. Raises MalformedReplyError, ContextLengthError."""
        if not isinstance(answer.get("content"), list):
            raise MalformedReplyError("no content")
        blocks = objects(answer["content"])
        asked = [block for block in blocks if block.get("type") == "tool_use"]
        stopped = str(answer.get("stop_reason"))
        cut = blocks[-1] if blocks and _FINISHED.get(stopped) == "length" else None
        calls = told_calls(
            [(each.get("id"), each.get("name"), _written(each.get("input"), cut=each is cut)) for each in asked]
        )
        text = "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")
        if stopped == "model_context_window_exceeded" and not (text or calls):
            raise ContextLengthError(
                "The model's context window was full before it had said anything.",
                next_step="Set context_window in [models.<role>] to what the endpoint serves.",
            )
        return ModelReply(
            text=text or _explained(answer),
            calls=calls,
            finish_reason=_FINISHED.get(stopped, "tool_calls" if calls else "stop"),
            model=str(answer.get("model") or ""),
            message={"role": "assistant", "content": blocks},
            **_usage(answer.get("usage")),
        )

    def joined(self, events: Sequence[Json]) -> Json:
        """The message that the events build, with the fields that we do not know too."""
        return joined_message(events)

    def ends(self, event: Json) -> bool:
        """message_stop, or an error."""
        return event.get("type") in ("message_stop", "error")

    def text(self, event: Json) -> str:
        """A text block's piece."""
        delta = event.get("delta")
        if not isinstance(delta, dict) or delta.get("type") != "text_delta":
            return ""
        return delta["text"] if isinstance(delta.get("text"), str) else ""


def _reasoning(options: RequestOptions, *, may_think: bool) -> dict[str, Any]:
    """How much the model is to think. A budget of tokens is for models that take one: it is kept between the least
    that the API takes and what the reply's length leaves beside an answer, and without room for it there is none. It is
    left out too where the API would miss the thinking before calls that were made without. An effort lets the model
    decide how much it thinks, `none` switches that off."""
    fields: dict[str, Any] = {}
    if options.effort not in (None, "none") and options.takes("output_config"):
        fields["output_config"] = {"effort": _EFFORTS.get(options.effort or "", options.effort)}
    most = options.max_output_tokens - _ANSWER
    if options.reasoning_tokens is not None and options.takes("thinking"):
        budget = max(min(options.reasoning_tokens, most), LEAST_BUDGET)
        if may_think and most >= LEAST_BUDGET:
            fields["thinking"] = {"type": "enabled", "budget_tokens": budget}
    elif options.reasoning_tokens is not None:
        fields["thinking"] = {"type": "adaptive"}  # what the models take that refuse a budget
    elif options.effort is not None and options.takes("thinking"):
        fields["thinking"] = {"type": "disabled" if options.effort == "none" else "adaptive"}
    return fields


def _tool_choice(choice: str, *, free: bool) -> dict[str, Any]:
    """The choice as the API has it; `free` where it takes no forced one: a model that thinks is not forced to call."""
    if choice in ("auto", "none"):
        return {"type": choice}
    if free:
        return {"type": "auto"}
    return {"type": "any"} if choice == "required" else {"type": "tool", "name": choice}


def _written(given: Any, *, cut: bool = False) -> str:
    """A call's input as JSON text; text is an input that could not be read. Of a reply that was cut within a call, the
    API gives what there was of the input as an object: half a file that looks like a whole one. It is made no JSON."""
    if isinstance(given, str):
        return given
    try:
        return json.dumps({} if given is None else given, ensure_ascii=False) + (_CUT_HERE if cut else "")
    except RecursionError:
        return "an input that is nested too deep"


def _known_as(block: Json, known: ToolCall) -> Json:
    given = block.get("input")
    told = (block.get("id"), block.get("name"), _written(given))
    if isinstance(given, dict) and told == (known.call_id, known.tool, known.arguments_json):
        return block
    return {**block, "id": known.call_id, "name": known.tool, "input": call_input(known.arguments_json)}


def _explained(answer: Json) -> str:
    """Why the model declined, where it says so."""
    details = answer.get("stop_details")
    return str(details.get("explanation") or "") if isinstance(details, dict) else ""


def _usage(raw: Any) -> dict[str, Any]:
    """The endpoint's own count of tokens, as a reply's fields. Its input tokens are those beside the cache's; one count
    that cannot be makes the whole an estimate."""
    usage = raw if isinstance(raw, dict) else {}
    output, uncached = token_count(usage.get("output_tokens")), token_count(usage.get("input_tokens"))
    cached = token_count(usage.get("cache_read_input_tokens") or 0)
    written = token_count(usage.get("cache_creation_input_tokens") or 0)
    if uncached is None or cached is None or written is None:
        return {"estimated": True}
    details = usage.get("output_tokens_details")
    return told_usage(
        prompt=token_count(uncached + cached + written),
        output=output,
        cached=cached,
        cache_write=written,
        reasoning=token_count(details.get("thinking_tokens")) if isinstance(details, dict) else None,
    )
