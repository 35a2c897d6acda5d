"""What a failed request means: try again, change one field, shrink, or give up. Judged by type, status and error code;
texts are read only where servers have no code of their own for it ("8500 tokens" is not a 500)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from agents.chat.endpoint import PAIRING, ModelEndpoint
from orchestrator.domain.errors import ContextLengthError, ModelError, ModelRefusedError, ModelUnavailableError

MAX_RETRY_AFTER_S = 300.0

_RETRYABLE = frozenset({408, 409, 425, 429})
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
    r"|deprecated|requires|must be|instead",
    re.IGNORECASE,
)
_FIELDS = (
    "temperature",
    "tool_choice",
    "max_completion_tokens",
    "max_tokens",
    "stream_options",
    "stream",
    "response_format",
)
_EXHAUSTED_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})


class MalformedReplyError(Exception):
    """The reply is no chat completion; the message says what is wrong with it."""


class RetryableError(Exception):
    """A try that failed for a reason which may pass. `retry_after` is what the endpoint asked for, in seconds. One that
    was `accepted` was being worked at when it was given up or broke off: what it cost nobody has told."""

    def __init__(self, reason: str, retry_after: float | None = None, *, accepted: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after
        self.accepted = accepted


class UnsupportedFieldError(Exception):
    """The endpoint does not take the field `name` in this form; `refusal` is the error if it cannot be changed."""

    def __init__(self, name: str, refusal: ModelError) -> None:
        super().__init__(name)
        self.name = name
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error reply, taken apart: HTTP status, the error's code, type and parameter ("" when absent), its text."""

    status: int
    message: str
    codes: frozenset[str] = frozenset()
    param: str = ""
    retry_after: float | None = None


def endpoint_refusal(status: int, body: Any, retry_after: float | None) -> Refusal:
    """From an error body in any shape in use: {"error": {...}}, {"error": "..."}, {"message"}, {"detail"}, text."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return Refusal(status, str(error or ""), retry_after=retry_after)
    message = error.get("message") or error.get("detail") or error
    codes = frozenset(str(error[name]) for name in ("code", "type") if error.get(name))
    return Refusal(status, str(message), codes, str(error.get("param") or ""), retry_after)


def judge_failure(reply: Refusal, endpoint: ModelEndpoint) -> Exception:
    """The exception that an error reply stands for: RetryableError, UnsupportedFieldError or a ModelError."""
    if _is_context_length(reply):
        return _context_length(reply, endpoint)
    if reply.codes & _EXHAUSTED_CODES:
        return _refused(reply, endpoint)
    if reply.status in _RETRYABLE or reply.status >= 500:
        return _retryable(reply, endpoint)
    refused = _refused(reply, endpoint)
    name = _unsupported_field(reply) if reply.status in (400, 422) else ""
    return UnsupportedFieldError(name, refused) if name else refused


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """Retry-After (RFC 9110: seconds or an HTTP date) or retry-after-ms, in seconds from now; None without either."""
    milliseconds, value = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if milliseconds is not None:
            return max(0.0, float(milliseconds) / 1000)
        return None if value is None else max(0.0, float(value))
    except ValueError:
        return _seconds_until(value or "", now)


def _seconds_until(date: str, now: datetime) -> float | None:
    try:
        return max(0.0, (parsedate_to_datetime(date) - now).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None


def _is_context_length(reply: Refusal) -> bool:
    if reply.codes & _CONTEXT_CODES or reply.status == 413:
        return True
    if reply.status in (401, 402, 403, 404):
        return False
    return _CONTEXT_TEXT.search(reply.message) is not None


def _context_length(reply: Refusal, endpoint: ModelEndpoint) -> ContextLengthError:
    return ContextLengthError(
        f"The request exceeds the context window of {endpoint.model} at {endpoint.host}: {_told(reply, endpoint)}",
        next_step="Set context_window in [models.<role>] to what the endpoint serves.",
    )


def _retryable(reply: Refusal, endpoint: ModelEndpoint) -> Exception:
    reason = f"HTTP {reply.status} from {endpoint.host}: {_told(reply, endpoint)}"
    if reply.retry_after is not None and reply.retry_after > MAX_RETRY_AFTER_S:
        return ModelUnavailableError(
            f"{reason} It asks to wait {reply.retry_after:.0f} s, more than the {MAX_RETRY_AFTER_S:.0f} s we wait.",
            next_step="Repeat the command later; an open run goes on where it was.",
        )
    return RetryableError(reason, reply.retry_after)


def _unsupported_field(reply: Refusal) -> str:
    """The field of ours that the endpoint refuses, or ""."""
    found = {
        name: at.start() for name in _FIELDS if (at := re.search(rf"\b{name}(ing)?\b", reply.message, re.IGNORECASE))
    }
    if reply.param in _FIELDS:
        found = {reply.param: 0}
    if "temperature" in found:
        return "temperature"
    refused = bool(_NOT_TAKEN.search(reply.message)) or any("unsupported" in code for code in reply.codes)
    # "Unsupported parameter: 'max_tokens' … use 'max_completion_tokens' instead" names both: the first is refused.
    return min(found, key=lambda name: found[name], default="") if refused else ""


def _refused(reply: Refusal, endpoint: ModelEndpoint) -> ModelRefusedError:
    return ModelRefusedError(
        f"{endpoint.host} refused the request for model {endpoint.model} (HTTP {reply.status}): "
        f"{_told(reply, endpoint)}",
        next_step=_way_out(reply, endpoint),
    )


def _told(reply: Refusal, endpoint: ModelEndpoint) -> str:
    """What the endpoint said, as a sentence."""
    text = endpoint.redacted(reply.message) or "no text"
    return text if text[-1] in ".!?…" else f"{text}."


def _way_out(reply: Refusal, endpoint: ModelEndpoint) -> str:
    if reply.codes & _EXHAUSTED_CODES or reply.status == 402:
        return f"Add credit to the account of {endpoint.key_variable}, or choose another endpoint with OPENAI_BASE_URL."
    if reply.status in (401, 403) and not endpoint.key:
        return f"No key was sent to {endpoint.host}: set {endpoint.key_variable}. {PAIRING}"
    if reply.status in (401, 403):
        return f"Check the key in {endpoint.key_variable} and that it may use {endpoint.model} at {endpoint.host}."
    if reply.status == 404:
        return (
            f"Check the model name (ORCHESTRATE_MODEL, now {endpoint.model}) and the endpoint (OPENAI_BASE_URL, now at "
            f"{endpoint.host}; most end in /v1)."
        )
    return (
        "Change what it names in [models.<role>] of the settings; `orchestrate doctor --model` tries the endpoint out."
    )
