"""Which key may go to which host.

A key goes only where a person has paired it: the vendor's own host for the vendor's key, what environment, flags and
the user's settings name together, and what a repository's file that was trusted names as a pair, both halves in it.
So no file of a repository can draw a key of the environment to a host of its choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.config.former import ROLES
from orchestrator.config.settings import ModelSettings, ModelsSettings

DEFAULT_BASE_URL = "https://api.openai.com/v1"
ANTHROPIC_BASE_URL = "https://api.anthropic.com/v1"
_VENDORS = {DEFAULT_BASE_URL: "OPENAI_API_KEY", ANTHROPIC_BASE_URL: "ANTHROPIC_API_KEY"}

_URL = re.compile(
    r"(?P<scheme>https?)://(?:[\w.~%!$&'()*+,;=:-]*@)?(?P<host>[\w.-]+|\[[0-9a-f:.]+\])(?::(?P<port>\d+))?(?:[/?#]|$)",
    re.IGNORECASE | re.ASCII,
)
_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class KeyPair:
    """An environment variable that holds a key or a header, and where that may be sent: scheme, host and port."""

    variable: str
    origin: str


@dataclass(frozen=True, slots=True)
class KeyPairs:
    """All pairs of one invocation. `named_url` is OPENAI_BASE_URL, the endpoint of a role that names none."""

    allowed: frozenset[KeyPair]
    named_url: str | None = None

    def may_send(self, model: ModelSettings, variable: str) -> bool:
        """Whether the model's endpoint may be sent the variable's value."""
        return KeyPair(variable, url_origin(endpoint_url(model, self.named_url))) in self.allowed

    def environ_for(self, model: ModelSettings, environ: Mapping[str, str]) -> Mapping[str, str]:
        """The environment as the model's endpoint may know it: without the values that are no pair with it."""
        kept = {name for name in sent_variables(model, self.named_url) if not self.may_send(model, name)}
        return {name: value for name, value in environ.items() if name not in kept}


def endpoint_url(model: ModelSettings, named_url: str | None) -> str:
    """Where the model is asked: at its own address, else at that of OPENAI_BASE_URL, else at the vendor whose API it
    speaks."""
    return model.base_url or named_url or (ANTHROPIC_BASE_URL if model.api == "messages" else DEFAULT_BASE_URL)


def key_variable(model: ModelSettings, url: str) -> str:
    """The variable that holds the key for this address: the one that the settings name, else the vendor's own."""
    if "api_key_env" in model.model_fields_set:
        return model.api_key_env
    return _vendor_variables().get(url_origin(url), model.api_key_env)


def is_vendor(url: str) -> bool:
    """Whether the address is a vendor's, who answers to nobody without a key."""
    return url_origin(url) in _vendor_variables()


def _vendor_variables() -> dict[str, str]:
    return {url_origin(url): variable for url, variable in _VENDORS.items()}


def sent_variables(model: ModelSettings, named_url: str | None = None) -> frozenset[str]:
    """The variables whose values the model's endpoint is sent: the key's, and those of headers."""
    return frozenset({key_variable(model, endpoint_url(model, named_url)), *model.headers.values()})


def key_pairs(persons: ModelsSettings, repository: Mapping[str, Any], environ: Mapping[str, str]) -> KeyPairs:
    """The pairs of the person's own models (without the repository's file) and of the values of the repository's
    trusted file."""
    named_url = environ.get("OPENAI_BASE_URL", "").strip() or None
    roles = (getattr(persons, role) for role in ROLES)
    own = {
        KeyPair(name, url_origin(endpoint_url(role, named_url)))
        for role in roles
        for name in sent_variables(role, named_url)
    }
    vendors = {KeyPair(variable, origin) for origin, variable in _vendor_variables().items()}
    named = {KeyPair(_VENDORS[DEFAULT_BASE_URL], url_origin(named_url))} if named_url else set()
    return KeyPairs(frozenset(own | vendors | named | set(named_pairs(repository))), named_url)


def named_pairs(repository: Mapping[str, Any]) -> Iterator[KeyPair]:
    """The pairs that a settings file names whole: base_url, and api_key_env or headers, for a role or for all."""
    models = repository.get("models")
    models = models if isinstance(models, Mapping) else {}
    for role in ROLES:
        own = models.get(role)
        named = {**models, **(own if isinstance(own, Mapping) else {})}
        url, headers = named.get("base_url"), named.get("headers")
        if isinstance(url, str):
            variables = (named.get("api_key_env"), *(headers.values() if isinstance(headers, Mapping) else ()))
            yield from (KeyPair(name, url_origin(url)) for name in variables if isinstance(name, str))


def url_origin(url: str) -> str:
    """Scheme, host and port of a URL. One that is written in any unusual way stands for itself alone, so that no two
    readers can disagree about its host."""
    found = _URL.match(url)
    if found is None:
        return url
    scheme = found["scheme"].lower()
    return f"{scheme}://{found['host'].lower()}:{found['port'] or _PORTS[scheme]}"
