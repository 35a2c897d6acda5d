"""What a failed request means: try again, change one field, take another wire, shrink, or give up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from agents.chat.endpoint import PAIRING, ModelEndpoint
from agents.chat.refusal import (
    Refusal,
    is_context_length,
    is_exhausted,
    is_page,
    is_signature,
    is_without_tools,
    other_wires,
    unsupported_field,
)
from orchestrator.domain.errors import ContextLengthError, ModelError, ModelRefusedError, ModelUnavailableError

MAX_RETRY_AFTER_S = 300.0

_RETRYABLE = frozenset({408, 409, 425, 429})
_TAG = re.compile(r"<[^<>]*>")
_SIGNATURE_WAY_OUT = (
    "The endpoint does not take back what its model said, so this conversation cannot go on: a proxy or gateway in "
    "between changes it, or another account or model answers now. Ask the model's own endpoint, then repeat the "
    "command: the work begins anew from what was recorded."
)


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


class NoSuchWireError(Exception):
    """The endpoint does not have the API that it was asked by; it may name `others`. `refusal` is the error if none is
    left."""

    def __init__(self, others: tuple[str, ...], refusal: ModelError) -> None:
        super().__init__(str(refusal))
        self.others = others
        self.refusal = refusal


def judge_failure(reply: Refusal, endpoint: ModelEndpoint, wire: str) -> Exception:
    """The exception that an error reply over the named wire stands for: RetryableError, UnsupportedFieldError,
    NoSuchWireError or a ModelError."""
    if is_context_length(reply):
        return _context_length(reply, endpoint)
    if is_exhausted(reply) or is_signature(reply) or is_without_tools(reply):
        return _refused(reply, endpoint)
    others = other_wires(reply, wire)
    if others is not None:
        return NoSuchWireError(others, _refused(reply, endpoint))
    if reply.status in _RETRYABLE or reply.status >= 500:
        return _retryable(reply, endpoint)
    refused, name = _refused(reply, endpoint), unsupported_field(reply)
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


def _refused(reply: Refusal, endpoint: ModelEndpoint) -> ModelRefusedError:
    return ModelRefusedError(
        f"{endpoint.host} refused the request for model {endpoint.model} (HTTP {reply.status}): "
        f"{_told(reply, endpoint)}",
        next_step=_way_out(reply, endpoint),
    )


def _told(reply: Refusal, endpoint: ModelEndpoint) -> str:
    """What the endpoint said, as a sentence."""
    said = f"an HTML page: {_TAG.sub(' ', reply.message)}" if is_page(reply.message) else reply.message
    text = endpoint.redacted(said) or "no text"
    return text if text[-1] in ".!?…" else f"{text}."


def _way_out(reply: Refusal, endpoint: ModelEndpoint) -> str:
    if is_signature(reply):
        return _SIGNATURE_WAY_OUT
    if is_without_tools(reply):
        return 'Set tools = "json" in [models.<role>], or choose a model that calls tools.'
    if 300 <= reply.status < 400:
        return "Set base_url to where it leads, if you trust that: redirects are not followed, the key would go along."
    if is_exhausted(reply):
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
