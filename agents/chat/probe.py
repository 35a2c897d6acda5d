"""Tries an endpoint out by use, for `orchestrate doctor --model`: one completion that must call a tool, and the list of
models."""

from __future__ import annotations

import json
from typing import NamedTuple

from agents.chat.json_tools import tool_calls_in_text
from agents.chat.model_chat import ModelChat
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


class EndpointProbe(NamedTuple):
    """One check: its name, whether it passed, and what was seen or what to do."""

    check: str
    ok: bool
    detail: str


def probe_endpoint(chat: ModelChat) -> list[EndpointProbe]:
    """Endpoint, streaming, tools, tool choice, structured output, usage, and context length where the endpoint tells
    it."""
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
    return [
        endpoint,
        _streaming(chat),
        _tools(reply),
        _tool_choice(chat, reply),
        _structured(reply),
        _usage(reply),
        *_window(chat),
    ]


def _passed(check: str, detail: str) -> EndpointProbe:
    return EndpointProbe(check, ok=True, detail=detail)


def _failed(check: str, detail: str) -> EndpointProbe:
    return EndpointProbe(check, ok=False, detail=detail)


def _streaming(chat: ModelChat) -> EndpointProbe:
    if chat.streams:
        return _passed("streaming", "replies are streamed: idle_timeout_s bounds a pause in one")
    return _failed("streaming", "replies come whole: timeout_s alone bounds the wait for one")


def _tools(reply: ModelReply) -> EndpointProbe:
    if reply.calls:
        return _passed("tools", f"called {reply.calls[0].tool}")
    if tool_calls_in_text(reply.text):
        return _failed("tools", 'writes tool calls as text: set tools = "json" in [models.<role>]')
    return _failed("tools", 'called no tool: try tools = "json" in [models.<role>], or another model')


def _tool_choice(chat: ModelChat, reply: ModelReply) -> EndpointProbe:
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


def _window(chat: ModelChat) -> list[EndpointProbe]:
    """Nothing where the endpoint does not tell."""
    told, ours = chat.told_context_length, chat.context_window
    if told is None:
        return []
    if told >= ours:
        return [_passed("context length", f"{told} tokens, of which {ours} are used")]
    return [_failed("context length", f"{told} tokens: set context_window = {told} (now {ours})")]
