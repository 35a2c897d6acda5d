"""Tries an endpoint out by use, for `orchestrate doctor --model`: one completion that must call a tool, and the list of
models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from agents.chat.json_tools import tool_calls_in_text
from agents.chat.openai_adapter import OpenAIChat
from agents.chat.port import ChatRequest, Message, ToolSchema
from agents.preambles import render_preamble
from orchestrator.domain.errors import ModelError
from orchestrator.domain.model_io import ModelReply

_WORD, _NUMBER = "ready", 7
_REPORT: ToolSchema = {
    "type": "function",
    "function": {
        "name": "report",
        "description": "Report a word and a number.",
        "parameters": {
            "type": "object",
            "properties": {"word": {"type": "string"}, "number": {"type": "integer"}},
            "required": ["word", "number"],
            "additionalProperties": False,
        },
    },
}
# What vLLM, OpenRouter, Groq, Mistral and LM Studio call it in their list of models.
_CONTEXT_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length", "loaded_context_length")


class EndpointProbe(NamedTuple):
    """One check: its name, whether it passed, and what was seen or what to do."""

    check: str
    ok: bool
    detail: str


def probe_endpoint(chat: OpenAIChat) -> list[EndpointProbe]:
    """Endpoint, tools, tool choice, structured output, usage, and context length where the endpoint tells it."""
    asked = render_preamble("probe_task", word=_WORD, number=_NUMBER)
    messages: tuple[Message, ...] = (
        {"role": "system", "content": render_preamble("probe")},
        {"role": "user", "content": asked},
    )
    try:
        reply = chat.complete(ChatRequest(messages, (_REPORT,), "required"))
    except ModelError as error:
        return [_failed("endpoint", str(error))]
    endpoint = _passed("endpoint", f"{reply.model} at {chat.endpoint.host} answered in {reply.latency_ms:.0f} ms")
    return [endpoint, _tools(reply), _tool_choice(chat, reply), _structured(reply), _usage(reply), *_window(chat)]


def _passed(check: str, detail: str) -> EndpointProbe:
    return EndpointProbe(check, ok=True, detail=detail)


def _failed(check: str, detail: str) -> EndpointProbe:
    return EndpointProbe(check, ok=False, detail=detail)


def _tools(reply: ModelReply) -> EndpointProbe:
    if reply.calls:
        return _passed("tools", f"called {reply.calls[0].tool}")
    if tool_calls_in_text(reply.text):
        return _failed("tools", 'writes tool calls as text: set tools = "json" in [models.<role>]')
    return _failed("tools", 'called no tool: try tools = "json" in [models.<role>], or another model')


def _tool_choice(chat: OpenAIChat, reply: ModelReply) -> EndpointProbe:
    if "tool_choice" in chat.learnt:
        return _failed("tool choice", "does not take tool_choice = required; auto is sent instead")
    return EndpointProbe(
        "tool choice", bool(reply.calls), "required" if reply.calls else "required, yet no tool called"
    )


def _structured(reply: ModelReply) -> EndpointProbe:
    arguments = reply.calls[0].arguments_json if reply.calls else ""
    try:
        value = json.loads(arguments)
    except ValueError:
        return _failed("structured output", f"the arguments are no JSON: {arguments[:80]!r}")
    fits = isinstance(value, dict) and (value.get("word"), value.get("number")) == (_WORD, _NUMBER)
    return EndpointProbe("structured output", fits, f"arguments {json.dumps(value)[:120]}")


def _usage(reply: ModelReply) -> EndpointProbe:
    if reply.estimated:
        return _failed("usage", "reports no usage: tokens and cost are estimated")
    return _passed("usage", f"{reply.prompt_tokens} prompt and {reply.completion_tokens} completion tokens")


def _window(chat: OpenAIChat) -> list[EndpointProbe]:
    """Nothing where the endpoint does not tell."""
    try:
        told = _told_context_length(chat.models(), chat.model)
    except ModelError:
        return []
    if told is None:
        return []
    ours = chat.context_window
    if told >= ours:
        return [_passed("context length", f"{told} tokens, the settings use {ours}")]
    return [_failed("context length", f"{told} tokens: set context_window = {told} (now {ours})")]


def _told_context_length(models: Mapping[str, Any], name: str) -> int | None:
    listed = models.get("data")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    entry = next((entry for entry in entries if entry.get("id") == name), {})
    told = [entry[field] for field in _CONTEXT_FIELDS if isinstance(entry.get(field), int)]
    return min(told, default=None)
