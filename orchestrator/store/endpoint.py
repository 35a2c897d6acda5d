"""Where a graph answers, how to log in, and what its refusals mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

import neo4j
from neo4j.exceptions import AuthError, ClientError, ConfigurationError, DriverError, Neo4jError, TransientError

from orchestrator.domain.errors import GraphError, UserError

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
    release: Callable[[], None] = lambda: None


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


def ask_server(endpoint: GraphEndpoint) -> Literal["yes", "refused", "nothing"]:
    """What comes back when the server is asked a query within some seconds, on a connection of its own: one that was
    there before may still answer when the server takes no new one."""
    try:
        with neo4j.GraphDatabase.driver(
            endpoint.uri,
            auth=(endpoint.username, endpoint.password),
            connection_timeout=5,
            connection_acquisition_timeout=5,
            max_transaction_retry_time=0,
            initial_retry_delay=0.01,
        ) as driver:
            driver.execute_query("RETURN 1", database_=endpoint.database)  # Bolt listens before the database is there
    except AuthError:
        return "refused"
    except (DriverError, Neo4jError):
        return "nothing"
    return "yes"


NO_DATABASE = "Neo.ClientError.Database.DatabaseNotFound"
_BY_CODE: Mapping[str, tuple[str, str]] = {
    NO_DATABASE: (
        "The graph at {uri} has no database {database}.",
        "Set NEO4J_DATABASE to one that exists (Community has one, neo4j).",
    ),
    "Neo.ClientError.Security.AuthenticationRateLimit": (
        "The graph at {uri} locks user {user} out after too many wrong passwords.",
        "Wait some seconds, then check NEO4J_USERNAME and NEO4J_PASSWORD.",
    ),
    "Neo.ClientError.Security.CredentialsExpired": (
        "The graph at {uri} wants user {user} to change the password first.",
        "Log in once with Neo4j Browser or cypher-shell and set a new password, then set NEO4J_PASSWORD to it.",
    ),
}


def translate(error: Exception, endpoint: GraphEndpoint | None) -> GraphError:
    """The driver's error as one message that says the way out."""
    names = {
        "uri": endpoint.uri if endpoint else "?",
        "user": endpoint.username if endpoint else "?",
        "database": (endpoint.database if endpoint else None) or "(default)",
    }
    code = getattr(error, "code", None) or ""
    if code in _BY_CODE:
        message, way_out = _BY_CODE[code]
        return GraphError(message.format(**names), next_step=way_out)
    if isinstance(error, AuthError):
        return GraphError(
            f"The graph at {names['uri']} refuses user {names['user']}: wrong user name or password.",
            next_step="Check NEO4J_USERNAME and NEO4J_PASSWORD; a Neo4j that is only just starting says so too.",
        )
    if isinstance(error, TransientError | DriverError) and not isinstance(error, ConfigurationError):
        return GraphError(
            f"The graph at {names['uri']} does not answer: {_first_line(error)}",
            next_step="Start it or correct NEO4J_URI; a stopped run goes on with `orchestrate execute --resume`.",
        )
    kind = "refused a statement" if isinstance(error, ClientError) else "failed"
    return GraphError(
        f"The graph at {names['uri']} {kind}: {_first_line(error)}", next_step="See `orchestrate doctor`."
    )


def _first_line(error: Exception) -> str:
    text = getattr(error, "message", None) or str(error) or type(error).__name__
    return str(text).strip().splitlines()[0][:300]
