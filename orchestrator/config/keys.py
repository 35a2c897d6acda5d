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
_VENDOR_VARIABLE = "OPENAI_API_KEY"

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
    """All pairs of one invocation. `default_url` is the endpoint of a role that names none."""

    allowed: frozenset[KeyPair]
    default_url: str = DEFAULT_BASE_URL

    def may_send(self, model: ModelSettings, variable: str) -> bool:
        """Whether the model's endpoint may be sent the variable's value."""
        return KeyPair(variable, url_origin(model.base_url or self.default_url)) in self.allowed

    def environ_for(self, model: ModelSettings, environ: Mapping[str, str]) -> Mapping[str, str]:
        """The environment as the model's endpoint may know it: without the values that are no pair with it."""
        kept = {name for name in sent_variables(model) if not self.may_send(model, name)}
        return {name: value for name, value in environ.items() if name not in kept}


def sent_variables(model: ModelSettings) -> frozenset[str]:
    """The variables whose values the model's endpoint is sent: the key's, and those of headers."""
    return frozenset({model.api_key_env, *model.headers.values()})


def key_pairs(persons: ModelsSettings, repository: Mapping[str, Any], environ: Mapping[str, str]) -> KeyPairs:
    """The pairs of the person's own models (without the repository's file) and of the values of the repository's
    trusted file."""
    default_url = environ.get("OPENAI_BASE_URL", "").strip() or DEFAULT_BASE_URL
    roles = (getattr(persons, role) for role in ROLES)
    own = {KeyPair(name, url_origin(role.base_url or default_url)) for role in roles for name in sent_variables(role)}
    vendors = {KeyPair(_VENDOR_VARIABLE, url_origin(url)) for url in (DEFAULT_BASE_URL, default_url)}
    return KeyPairs(frozenset(own | vendors | set(named_pairs(repository))), default_url)


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
