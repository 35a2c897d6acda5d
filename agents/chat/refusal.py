"""An error reply taken apart, and what it is about. Told by status and code; texts are read only where servers have no
code of their own for it ("8500 tokens" is not a 500)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})
# OpenAI and Azure, vLLM, llama.cpp (400, and 500 in some versions), Ollama, Anthropic, Gemini, Mistral, TGI, xAI.
_CONTEXT_TEXT = re.compile(
    r"maximum (context|model|prompt) length|exceeds?( the)?( model's)?( maximum| available)? context"
    r"|context (size|length|window)[^.]{0,40}exceeded|exceed context (limit|window)|exceeded max context"
    r"|longer than the (maximum )?(model|context)"
    r"|prompt is too long|prompt too long|input is too long|input token count[^.]{0,40}exceeds|must be <= \d+\. given"
    r"|reduce the length of the (messages|input|prompt)|request too large for",
    re.IGNORECASE,
)
_NOT_TAKEN = re.compile(
    r"unsupported|not supported|n't support|not support|unrecognized|unknown|not permitted|not allowed|invalid|only the"
    r"|deprecated|requires|must be|instead|does not match any",
    re.IGNORECASE,
)
_PLAIN_FIELDS = (
    "temperature",
    "tool_choice",
    "max_completion_tokens",
    "max_tokens",
    "max_output_tokens",
    "stream_options",
    "stream",
    "response_format",
    "reasoning_effort",
    "output_config",
)
_WORDS = (
    "include",
    "thinking",
    "reasoning",
    "store",
    "text",
)  # what a sentence may hold otherwise too: fields only where set apart
FIELDS = (*_PLAIN_FIELDS, *_WORDS)
SAID_WHEN_LEFT_OUT = frozenset({"reasoning_effort", "output_config", *_WORDS}) - {"text"}
"""What the settings asked for and the endpoint does not give."""
# Fields that are told by a value or a part of theirs: "adaptive thinking is not supported on this model".
_TOLD_BY = {"output_config": r"\beffort\b", "thinking": r"\badaptive\b", "include": r"\b[Ee]ncrypted.content\b"}
_SIGNATURE = re.compile(
    r"invalid .?signature|thought.?signature|encrypted.content[^.]{0,60}(could not be|cannot be|failed to be)? ?verif"
    r"|invalid_encrypted_content|thinking.{0,3} blocks?[^.]{0,80}cannot be modified",
    re.IGNORECASE,
)
_WITHOUT_TOOLS = re.compile(
    r"does not support tools|--enable-auto-tool-choice|tools? param requires --jinja|support tool (use|calling)"
    r"|(tools|function calling|tool calling|tool use) (is|are) not supported|does not support (function|tool)",
    re.IGNORECASE,
)
_PAGE = re.compile(r"\s*(<!--.*?-->\s*)?<(!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_PATH = re.compile(r"\bv1/(responses|messages|chat/completions)\b|\b(responses|messages) api\b", re.IGNORECASE)
_MODEL_CODES = frozenset({"model_not_found", "DeploymentNotFound", "ModelNotFound"})
_ABOUT_MODEL = re.compile(r"\bmodels?\b|\bdeployments?\b|no endpoints found", re.IGNORECASE)
# messages.1.reasoning_content, 'messages.1' : property 'reasoning_content', messages[1].tool_calls[0].extra_content
_IN_MESSAGES = re.compile(
    r"\bmessages(?:\.|\[)\d+\]?(?:\.assistant)?(?:\.tool_calls(?:\.|\[)\d+\]?)?(?:\.|[^.\n]{0,120}?property ')(\w+)"
)
_NEEDED = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", "id", "type", "function", "assistant"})
_STATUS_OF = {  # Anthropic's, which others use too
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_EXHAUSTED_CODES = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"}
)
_EXHAUSTED = re.compile(r"credit balance is too low", re.IGNORECASE)
_BUSY = frozenset({429, 502, 503, 504})  # a gateway's page, which may pass
_NOT_LET_IN = frozenset({401, 403, 407})


IN_MESSAGES = "messages."
"""How the name of a field begins that is refused within an assistant's message."""
MARK = "cache_control"
"""What marks a block for the endpoint's cache, wherever in a request it stands."""
MOST_CHARS = 20_000
"""Of an error's text, which an endpoint may make as long as it likes."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """HTTP status, the error's code, type and parameter ("" when absent), its text."""

    status: int
    message: str
    codes: frozenset[str] = frozenset()
    param: str = ""
    retry_after: float | None = None


def refusal_in_reply(error: Any) -> Refusal:
    """An error that came with status 200, in a stream or as gateways and some llama.cpp versions send it: its code is
    the status, or its type has one."""
    code, kind = (error.get("code"), str(error.get("type"))) if isinstance(error, Mapping) else (None, "")
    told = code if isinstance(code, int) and 400 <= code <= 599 else _STATUS_OF.get(kind, 500)
    return endpoint_refusal(told, {"error": error}, None)


def endpoint_refusal(status: int, body: Any, retry_after: float | None) -> Refusal:
    """From an error body in any shape in use: {"error": {...}}, {"error": "..."}, {"message"}, {"detail"}, text."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return Refusal(status, str(error or "")[:MOST_CHARS], retry_after=retry_after)
    message = error.get("message") or _detail(error.get("detail")) or error
    codes = frozenset(str(error[name])[:MOST_CHARS] for name in ("code", "type") if error.get(name))
    return Refusal(status, str(message)[:MOST_CHARS], codes, str(error.get("param") or "")[:MOST_CHARS], retry_after)


def _detail(detail: Any) -> Any:
    """FastAPI's list of defects as `messages.2.assistant.name: Extra inputs are not permitted`."""
    if not (isinstance(detail, Sequence) and not isinstance(detail, str)):
        return detail
    defects = [defect for defect in detail if isinstance(defect, Mapping) and isinstance(defect.get("loc"), Sequence)]
    lines = (f"{'.'.join(str(at) for at in each['loc'] if at != 'body')}: {each.get('msg')}" for each in defects)
    return "; ".join(lines) or detail


def is_page(text: str) -> bool:
    """Whether it is a page for people, which no API sends."""
    return _PAGE.match(text) is not None


def is_context_length(reply: Refusal) -> bool:
    """Whether the request was too long."""
    if reply.codes & _CONTEXT_CODES or reply.status == 413:
        return True
    if reply.status in (401, 402, 403, 404):
        return False
    return _CONTEXT_TEXT.search(reply.message) is not None


def is_exhausted(reply: Refusal) -> bool:
    """Whether the account has nothing left to pay with."""
    return reply.status == 402 or bool(reply.codes & _EXHAUSTED_CODES) or _EXHAUSTED.search(reply.message) is not None


def is_signature(reply: Refusal) -> bool:
    """Whether what the model had said is not taken back: its reasoning's signature does not fit."""
    told = reply.status >= 400 and reply.status not in _NOT_LET_IN | {429}
    return told and any(_SIGNATURE.search(text) for text in (reply.message, *reply.codes))


def is_without_tools(reply: Refusal) -> bool:
    """Whether the model, or its server as it was started, knows no tool calls."""
    return reply.status in (400, 404, 422, 500) and _WITHOUT_TOOLS.search(reply.message) is not None


def other_wires(reply: Refusal, wire: str) -> tuple[str, ...] | None:
    """Where the endpoint does not have the wire: those that it names instead, as the settings name them. None where it
    has it. A page with a gateway's status may pass, and one that asks for a key says nothing of wires."""
    found = (match[1] or match[2] for match in _PATH.finditer(reply.message))
    named = tuple(dict.fromkeys(name.lower().removesuffix("/completions") for name in found))
    others = tuple(name for name in named if name != wire)
    if others and reply.status in (400, 404, 422):
        return others
    if is_page(reply.message):
        return None if reply.status in _BUSY | _NOT_LET_IN else others
    absent = reply.status in (405, 501) or (reply.status == 404 and not _is_about_model(reply))
    return others if absent else None


def _is_about_model(reply: Refusal) -> bool:
    return bool(reply.codes & _MODEL_CODES or reply.param == "model" or _ABOUT_MODEL.search(reply.message))


def unsupported_field(reply: Refusal) -> str:
    """The field of ours that the endpoint refuses, or "". One within an assistant's message is `messages.<name>`."""
    if reply.status not in (400, 422):
        return ""
    refused = bool(_NOT_TAKEN.search(reply.message)) or any("unsupported" in code for code in reply.codes)
    if MARK in reply.message:
        return MARK if refused else ""
    within = _IN_MESSAGES.search(reply.message) or _IN_MESSAGES.search(reply.param)
    if within:
        return f"{IN_MESSAGES}{within[1]}" if refused and within[1] not in _NEEDED else ""
    found = {name: at.start() for name in FIELDS if (at := _named(name, reply.message))}
    found = found or {name: 0 for name, told in _TOLD_BY.items() if re.search(told, reply.message)}
    if "temperature" in found:
        return "temperature"
    if "tool_choice" in found and "thinking" in found:
        return "tool_choice"  # "Thinking may not be enabled when tool_choice forces tool use."
    param = re.split(r"[.\[]", reply.param)[0]
    if param in FIELDS:
        found = {param: 0}
    # "Unsupported parameter: 'max_tokens' … use 'max_completion_tokens' instead" names both: the first is refused.
    return min(found, key=lambda name: found[name], default="") if refused else ""


def _named(name: str, text: str) -> re.Match[str] | None:
    if name in _PLAIN_FIELDS:
        return re.search(rf"\b{name}(ing)?\b", text, re.IGNORECASE)
    return re.search(rf"['\"`]{name}\b|\b{name}[.:\[]|^{name}\b", text, re.IGNORECASE)
