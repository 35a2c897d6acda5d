"""Where a model is reached, with which key, and how messages name it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from orchestrator.config.keys import endpoint_url, is_vendor, key_variable
from orchestrator.config.secrets import MASK, MIN_LENGTH, is_secret_name
from orchestrator.config.settings import ModelSettings
from orchestrator.domain.errors import UserError

SNIPPET_CHARS = 300
PAIRING = (
    "A repository's settings file that names a variable (api_key_env, headers) or an endpoint (base_url) must name "
    "both, and be trusted, for its value to go there."
)
_OURS = frozenset(
    {"model", "messages", "tools", "tool_choice", "stream", "stream_options", "n", "functions", "function_call"}
)


_HEADERS_OF_OURS = frozenset(
    {"host", "content-type", "content-length", "transfer-encoding", "connection", "accept-encoding", "te", "upgrade"}
)


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """One model at one address. Messages name model, host and variables, never their values or the rest of the URL."""

    model: str
    base_url: str = field(repr=False)
    host: str
    loopback: bool
    key_variable: str
    key: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What is sent beside it, names and values."""
    api_version: str | None = None

    def redacted(self, text: str) -> str:
        """The text on one line, the key and the values of headers replaced by `***`, cut to a snippet."""
        values = (self.key, *(value for value in self.headers.values() if len(value) >= MIN_LENGTH))
        for secret in sorted(filter(None, values), key=len, reverse=True):
            text = text.replace(secret, MASK)
        line = " ".join(text.split())
        return line if len(line) <= SNIPPET_CHARS else line[:SNIPPET_CHARS] + "…"


def model_endpoint(settings: ModelSettings, env: Mapping[str, str]) -> ModelEndpoint:
    """The endpoint that the settings and the environment name. Raises UserError for what cannot work."""
    if not settings.name:
        raise UserError("No model is named.", next_step="Set ORCHESTRATE_MODEL, or models.<role>.name in the settings.")
    taken = sorted(_OURS & settings.extra.keys())
    if taken:
        raise UserError(f"models.<role>.extra may not contain {', '.join(taken)}: orchestrate sets that itself.")
    base_url = endpoint_url(settings, env.get("OPENAI_BASE_URL"))
    host = _host(base_url)
    return ModelEndpoint(
        model=settings.name,
        base_url=base_url,
        host=host,
        loopback=_is_loopback(host),
        key_variable=key_variable(settings, base_url),
        key=_key(settings, env, base_url),
        headers={name: _header(name, variable, env) for name, variable in settings.headers.items()},
        api_version=settings.api_version,
    )


def _header(name: str, variable: str, env: Mapping[str, str]) -> str:
    if name.lower() in _HEADERS_OF_OURS:
        raise UserError(f"models.<role>.headers may not contain {name}: orchestrate sets that itself.")
    value = _sendable(variable, env)
    if not value:
        raise UserError(
            f"No value for the header {name}: {variable} is not set, or not meant for this endpoint.",
            next_step=f"Set {variable}, or take the header out of models.<role>.headers. {PAIRING}",
        )
    return value


def _key(settings: ModelSettings, env: Mapping[str, str], base_url: str) -> str:
    """The key; none where a header is it already and no variable is named beside that: what OPENAI_API_KEY holds by
    chance is not meant for an endpoint that has its own."""
    variable, by_header = key_variable(settings, base_url), any(map(is_secret_name, settings.headers))
    if by_header and "api_key_env" not in settings.model_fields_set:
        return ""
    key = _sendable(variable, env)
    if not key and is_vendor(base_url) and not by_header:
        raise UserError(
            f"No key for the model endpoint: {variable} is not set, or not meant for it.",
            next_step=f"Set {variable}, or OPENAI_BASE_URL to an endpoint that needs none. {PAIRING}",
        )
    return key


def _sendable(variable: str, env: Mapping[str, str]) -> str:
    """The variable's value, as a header can hold it; "" where it is not set."""
    value = env.get(variable, "").strip()
    if not (value.isascii() and value.isprintable()):
        raise UserError(f"{variable} holds a character that no key has (a line break or a non-ASCII one).")
    return value


def _host(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("http", "https") or not host:
        raise UserError(
            "The endpoint's address (OPENAI_BASE_URL, or models.<role>.base_url) is no http or https URL.",
            next_step="It looks like https://api.openai.com/v1 or http://127.0.0.1:8000/v1.",
        )
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port}" if port else shown


def _is_loopback(host: str) -> bool:
    name = urlsplit(f"//{host}").hostname or ""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
