"""The graph's schema: created idempotently at the first connection, known by a version node afterwards."""

from __future__ import annotations

import re
from functools import cache, partial
from importlib.resources import files
from typing import LiteralString

from orchestrator.domain.errors import GraphError
from orchestrator.domain.tools import EXECUTED_STATUSES
from orchestrator.store.connection import Connection, Transaction
from orchestrator.store.endpoint import Server

SCHEMA_VERSION = 3
"""1: as first released. 2: a call has `executed`. 3: ids of failures and baselines are unique."""

OLDEST_NEO4J = (5, 26)
BATCH = 5_000
"""Nodes that one transaction of a migration changes at most."""


@cache
def schema_statements() -> tuple[LiteralString, ...]:
    """The statements of schema/*.cypher in file order, each ended by a semicolon."""
    folder = files("orchestrator.store").joinpath("schema")
    texts = [file.read_text(encoding="utf-8") for file in sorted(folder.iterdir(), key=lambda file: file.name)]
    lines = [line for text in texts for line in text.splitlines() if not line.startswith("//")]
    return tuple(part.strip() for part in "\n".join(lines).split(";") if part.strip())


def ensure_schema(connection: Connection) -> None:
    """Check the server and the schema's version; create the schema in a database that has none of our labels, bring an
    older one up to date. Raises GraphError for a server too old, foreign data, and the schema of a newer release."""
    check_server(connection.server())
    found = connection.read(lambda tx: tx.run("schema_version"))
    version = int(found[0]["version"]) if found else None
    if version == SCHEMA_VERSION:
        return
    if version is not None and version > SCHEMA_VERSION:
        raise GraphError(
            f"The graph's schema is version {version}, made by a newer release; this one knows {SCHEMA_VERSION}.",
            next_step="Upgrade orchestrate, or use another database (NEO4J_DATABASE) or ORCHESTRATE_HOME.",
        )
    if version is None:
        _refuse_foreign(connection)
    for text in schema_statements():  # schema and data may not share a transaction
        connection.write(partial(Transaction.execute, text=text))
    if version is not None:
        _tell_executed(connection)
    connection.write(lambda tx: tx.run("schema_version_set", version=SCHEMA_VERSION))


def check_server(server: Server) -> None:
    """Raise GraphError for a Neo4j older than 5.26."""
    found = re.match(r"Neo4j/(\d+)\.(\d+)", server.version)
    if found and (int(found[1]), int(found[2])) < OLDEST_NEO4J:
        raise GraphError(
            f"{server.version} at {server.uri} is too old: Neo4j 5.26 LTS or later is needed.",
            next_step="Upgrade it, or unset NEO4J_URI to use the embedded server.",
        )


def _refuse_foreign(connection: Connection) -> None:
    rows = connection.read(lambda tx: tx.run("schema_foreign"))
    if rows:
        raise GraphError(
            f"The database holds nodes that are not ours under a label that we need: {', '.join(rows[0]['labels'])}.",
            next_step="Name an empty database in NEO4J_DATABASE, use another Neo4j, or unset NEO4J_URI.",
        )


def _tell_executed(connection: Connection) -> None:
    """From 1 to 2, in batches: whoever is cut off, or meets another who does the same, goes on where it ended."""
    statuses = sorted(EXECUTED_STATUSES)
    while connection.write(lambda tx: tx.run("calls_executed", executed=statuses, batch=BATCH))[0]["told"]:
        pass
