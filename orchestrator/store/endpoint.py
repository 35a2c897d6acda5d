"""Where a graph answers, and how to log in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Endpoint:
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
class Source:
    """How to come by an endpoint: `locate` may start a server, `release` gives up what it holds (safe to repeat)."""

    locate: Callable[[], Endpoint]
    release: Callable[[], None]
