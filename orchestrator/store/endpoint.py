"""Where a graph answers, and how to log in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from orchestrator.domain.errors import UserError

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEndpoint:
    """One Bolt address with its credentials. `reader` is the (user, password) whose rights are read-only; None where
    read access mode alone keeps writes out (Neo4j)."""

    kind: Literal["neo4j", "embedded"]
    uri: str
    username: str
    password: str = field(repr=False)
    database: str | None
    reader: tuple[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Server:
    """What answers, for doctor and status: `version` as it calls itself, for example `Neo4j/5.26.25`."""

    kind: Literal["neo4j", "embedded"]
    version: str
    uri: str
    database: str | None


@dataclass(frozen=True, slots=True)
class EndpointSource:
    """How to come by an endpoint: `locate` may start a server, `release` gives up what it holds (safe to repeat)."""

    locate: Callable[[], GraphEndpoint]
    release: Callable[[], None]


def neo4j_endpoint(environ: Mapping[str, str]) -> GraphEndpoint:
    """The Neo4j that NEO4J_URI, NEO4J_USERNAME, NEO4J_PASSWORD and NEO4J_DATABASE name. Raises UserError for an address
    that is none of Bolt's, and without a password."""
    uri, password = environ["NEO4J_URI"], environ.get("NEO4J_PASSWORD")
    if not _is_bolt(uri):
        raise unusable(uri)
    if not password:
        raise UserError(
            f"NEO4J_URI is set ({uri}) but NEO4J_PASSWORD is not.",
            next_step="Set NEO4J_PASSWORD, or unset NEO4J_URI to use the embedded server.",
        )
    return GraphEndpoint(
        kind="neo4j",
        uri=uri,
        username=environ.get("NEO4J_USERNAME") or "neo4j",
        password=password,
        database=environ.get("NEO4J_DATABASE") or None,
    )


def unusable(uri: str) -> UserError:
    """What is wrong with an address. A password in it is not shown."""
    return UserError(
        f"NEO4J_URI is not usable: {re.sub('//[^/]*@', '//***@', uri)}.",
        next_step="It is SCHEME://HOST:PORT, for example bolt://127.0.0.1:7687; the scheme is one of "
        f"{', '.join(SCHEMES)}, and user and password are NEO4J_USERNAME and NEO4J_PASSWORD.",
    )


def _is_bolt(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
        usable = parts.scheme in SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not close
        return False
    routed = parts.query and not parts.scheme.startswith("neo4j")  # only these take a routing policy
    return usable and "@" not in parts.netloc and not routed and not re.search(r"\s", uri)
