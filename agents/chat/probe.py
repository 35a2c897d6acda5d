"""Tries an endpoint out by use, for `orchestrate doctor --model`: a request that must call a tool, a long one sent
twice, and the list of models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from agents.chat.estimate import text_tokens
from agents.chat.json_tools import tool_calls_in_text
from agents.chat.model_chat import ModelChat
from agents.chat.port import ChatRequest, Message, ToolSchema
from agents.preambles import render_preamble
from orchestrator.domain.errors import ContextLengthError, ModelError
from orchestrator.domain.model_io import ModelReply

_WORD, _NUMBER, _OTHER = "heron", 7, 8
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
LONG_TOKENS = 16_000
"""Of the long prompt, by our estimate: more than most local servers hold where nobody told them to hold more."""
CACHED_TOKENS = 7_000
"""Of the long prompt of a provider that refuses what is too long: enough for its cache."""
_READ_LESS = 2.5
"""The filler is plain English, which our estimate overrates by two thirds at most."""


class EndpointProbe(NamedTuple):
    """One check: its name, whether it passed, and what was seen or what to do. An endpoint that fails one that is
    `needed` cannot be worked with."""

    check: str
    ok: bool
    detail: str
    needed: bool = False


def probe_endpoint(chat: ModelChat) -> Iterator[EndpointProbe]:
    """Endpoint and wire, streaming, tools, tool choice, parallel calls, structured output, reasoning, usage, long
    prompts, the prompt's cache, and the context length where it is told."""
    try:
        reply = chat.complete(_request(""))
    except ModelError as error:
        yield _failed("endpoint", str(error), needed=True)
        return
    where = f"{reply.model} at {chat.endpoint.host}{chat.wire.path}"
    yield _passed("endpoint", f'{where} (api = "{chat.wire.name}") answered in {reply.latency_ms:.0f} ms')
    yield _streaming(chat)
    yield _tools(reply)
    yield _tool_choice(chat, reply)
    yield _parallel(reply)
    yield _structured(reply)
    yield from _reasoning(chat, reply)
    yield _usage(reply)
    yield from _long_prompts(chat, reply)
    yield from _window(chat)


def _passed(check: str, detail: str) -> EndpointProbe:
    return EndpointProbe(check, ok=True, detail=detail)


def _failed(check: str, detail: str, *, needed: bool = False) -> EndpointProbe:
    return EndpointProbe(check, ok=False, detail=detail, needed=needed)


def _request(filler: str) -> ChatRequest:
    """The word stands in the system text alone, the question behind the filler."""
    asked = render_preamble("probe_task", number=_NUMBER, other=_OTHER)
    messages: tuple[Message, ...] = (
        {"role": "system", "content": render_preamble("probe", word=_WORD)},
        {"role": "user", "content": f"{filler}\n\n{asked}" if filler else asked},
    )
    return ChatRequest(messages, (_REPORT,), "required")


def _streaming(chat: ModelChat) -> EndpointProbe:
    if chat.streams:
        return _passed("streaming", "replies are streamed: idle_timeout_s bounds a pause in one")
    return _failed("streaming", "replies come whole: timeout_s alone bounds the wait for one")


def _tools(reply: ModelReply) -> EndpointProbe:
    if reply.calls:
        return _passed("tools", f"called {reply.calls[0].tool}")
    if tool_calls_in_text(reply.text):
        return _failed("tools", 'writes tool calls as text: set tools = "json" in [models.<role>]', needed=True)
    return _failed("tools", 'called no tool: try tools = "json" in [models.<role>], or another model', needed=True)


def _tool_choice(chat: ModelChat, reply: ModelReply) -> EndpointProbe:
    if "tool_choice" in chat.learnt:
        return _failed("tool choice", "does not take tool_choice = required; auto is sent instead")
    return EndpointProbe(
        "tool choice", bool(reply.calls), "required" if reply.calls else "required, yet no tool called"
    )


def _parallel(reply: ModelReply) -> EndpointProbe:
    if len(reply.calls) > 1:
        return _passed("parallel calls", f"{len(reply.calls)} calls in one reply")
    return _failed("parallel calls", "asked for two calls in one reply and got fewer: work takes more turns so")


def _reported(reply: ModelReply) -> tuple[object, ...]:
    """The arguments of the reply's calls, as JSON, or as text where they are none."""
    return tuple(_loaded(call.arguments_json) for call in reply.calls)


def _loaded(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def _knows_the_word(reply: ModelReply) -> bool:
    return any(isinstance(value, dict) and value.get("word") == _WORD for value in _reported(reply))


def _structured(reply: ModelReply) -> EndpointProbe:
    value = next(iter(_reported(reply)), None)
    if not isinstance(value, dict):
        return _failed("structured output", f"the arguments are no JSON object: {str(value or '')[:80]!r}")
    fits = (value.get("word"), value.get("number")) in ((_WORD, _NUMBER), (_WORD, _OTHER))
    return EndpointProbe("structured output", fits, f"arguments {json.dumps(value)[:120]}")


def _reasoning(chat: ModelChat, reply: ModelReply) -> Iterator[EndpointProbe]:
    """Nothing where none was asked for and none came."""
    settings = chat.settings
    asked = settings.effort not in (None, "none") or settings.reasoning_tokens is not None
    if refused := sorted(chat.learnt & {"reasoning_effort", "reasoning", "thinking", "output_config"}):
        yield _failed("reasoning", f"does not take {', '.join(refused)}: take effort and reasoning_tokens out")
    elif reply.reasoning_tokens:
        yield _passed("reasoning", f"{reply.reasoning_tokens} reasoning tokens")
    elif asked:
        yield _failed("reasoning", "was asked for, and no reasoning tokens were told")


def _usage(reply: ModelReply) -> EndpointProbe:
    if reply.estimated:
        return _failed("usage", "reports no usage that can be: tokens and cost are estimated")
    return _passed("usage", f"{reply.prompt_tokens} prompt and {reply.completion_tokens} completion tokens")


def _long_prompts(chat: ModelChat, short: ModelReply) -> Iterator[EndpointProbe]:
    """Whether a long prompt is read whole, and whether the second time it comes from the cache."""
    filler = _filler(chat)
    request = _request(filler)
    sent = chat.estimate(request.messages, request.tools)
    try:
        first, again = chat.complete(request), chat.complete(request)
    except ContextLengthError as error:
        told = f"refuses a prompt of about {sent:,} tokens, which context_window allows: set that to what it holds"
        yield _failed("long prompts", f"{told}. {error.message}", needed=True)
        return
    except ModelError as error:
        yield _failed("long prompts", str(error), needed=True)
        return
    fewer = not first.estimated and first.prompt_tokens * _READ_LESS < sent
    lost = _knows_the_word(short) and not _knows_the_word(first)
    if fewer or lost:
        yield _failed("long prompts", _cut(first, sent, lost=lost), needed=True)
    else:
        seen = "read whole" if _knows_the_word(first) else "taken"
        yield _passed("long prompts", f"one of about {sent:,} tokens was {seen}")
    yield _cached(chat, again)


def _filler(chat: ModelChat) -> str:
    """Lines that fill the window as it is set, or as far as a test may cost: a listed provider refuses what is too long
    and charges for what is not."""
    most = CACHED_TOKENS if chat.is_listed else LONG_TOKENS
    tokens = min(chat.context_window - chat.max_output_tokens - text_tokens(_spoken_for()), most)
    line = text_tokens(render_preamble("probe_line", number=1000) + "\n")
    lines = [render_preamble("probe_line", number=number) for number in range(1, max(tokens, 0) // line)]
    return render_preamble("probe_filler", lines="\n".join(lines)) if lines else ""


def _spoken_for() -> str:
    request = _request("")
    return json.dumps([*request.messages, *request.tools]) * 2


def _cut(reply: ModelReply, sent: int, *, lost: bool) -> str:
    seen = "the system text was lost" if lost else f"only {reply.prompt_tokens:,} tokens were counted"
    return (
        f"of a prompt of about {sent:,} tokens {seen}: the endpoint cuts what is too long and says nothing. Set "
        "context_window in [models.<role>] to what it holds, or let it hold more (Ollama: num_ctx, "
        "OLLAMA_CONTEXT_LENGTH)"
    )


def _cached(chat: ModelChat, again: ModelReply) -> EndpointProbe:
    if again.cached_tokens:
        return _passed("cached tokens", f"{again.cached_tokens:,} of {again.prompt_tokens:,} on the second request")
    advice = (
        ' (Claude caches over api = "messages" alone)' if "claude" in chat.model and chat.wire.name == "chat" else ""
    )
    return _failed("cached tokens", f"none were told when the same prompt came again: each turn pays all of it{advice}")


def _window(chat: ModelChat) -> Iterator[EndpointProbe]:
    """Nothing where the endpoint does not tell."""
    told, ours = chat.told_context_length, chat.context_window
    if told is None:
        return
    if told >= ours:
        yield _passed("context length", f"{told} tokens, of which {ours} are used")
    else:
        yield _failed("context length", f"{told} tokens: set context_window = {told} (now {ours})")
