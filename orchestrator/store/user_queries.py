"""The user's own Cypher: read-only by right of the connection, answers as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

import neo4j
from neo4j.exceptions import AuthError, Forbidden, Neo4jError, TransientError
from neo4j.graph import Node, Path, Relationship
from neo4j.time import Date, DateTime, Duration, Time

from orchestrator.domain.errors import QueryError
from orchestrator.domain.query import QueryResult
from orchestrator.store.connection import Connection
from orchestrator.store.mapping import iso

_RIGHTS = ("Neo.ClientError.Security.", "Neo.ClientError.Statement.AccessMode")


class UserQueries:
    """Queries."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def query(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, write: bool = False, limit: int | None = None
    ) -> QueryResult:
        """Run Cypher and return at most `limit` rows (an empty answer of the embedded server has no columns). Raises
        QueryError for what the user's Cypher got wrong, a write without `write` among it."""
        if not cypher.strip():
            raise QueryError("The query is empty.", next_step="Give Cypher, for example: MATCH (t:Task) RETURN t.key")

        def call(session: neo4j.Session) -> QueryResult:
            try:
                result = session.run(cypher, dict(parameters or {}))
            except (OverflowError, UnicodeEncodeError) as error:  # before anything was sent
                raise QueryError(
                    f"The graph cannot hold a value of the query: {error}.",
                    next_step="Whole numbers have 64 bits, text is Unicode.",
                ) from error
            columns = tuple(result.keys())
            rows = [[plain_value(value) for value in record.values()] for record in islice(result, limit)]
            result.consume()
            return QueryResult(columns=columns, rows=rows)

        return self._connection.user_session(call, lambda error: _refusal(error, write=write), write=write)


def _refusal(error: Neo4jError, *, write: bool) -> QueryError | None:
    if isinstance(error, TransientError | AuthError) or (error.code or "").startswith("Neo.ClientError.Database."):
        return None
    text = (error.message or str(error)).strip()
    if not write and (isinstance(error, Forbidden) or (error.code or "").startswith(_RIGHTS)):
        return QueryError(
            f"The query wants to write: {text.splitlines()[0].rstrip('.')}.", next_step="Give --write to allow it."
        )
    return QueryError(f"The graph refuses the query: {text}")


def plain_value(value: Any) -> Any:
    """A driver value as JSON has it: nodes and relationships as maps, paths as lists, instants as ISO 8601 with Z."""
    if isinstance(value, Node):
        return {"labels": sorted(value.labels), "properties": _mapped(dict(value))}
    if isinstance(value, Relationship):
        return {"type": value.type, "properties": _mapped(dict(value))}
    if isinstance(value, Path):
        links = zip(value.relationships, value.nodes[1:], strict=True)
        return [plain_value(step) for step in (value.start_node, *chain.from_iterable(links))]
    if isinstance(value, Mapping):
        return _mapped(value)
    if isinstance(value, list | tuple) and not isinstance(value, Duration):
        return [plain_value(item) for item in value]
    return _scalar(value)


def _mapped(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: plain_value(value) for key, value in sorted(values.items())}


def _scalar(value: Any) -> Any:
    if isinstance(value, DateTime):
        value = value.to_native()
    if isinstance(value, datetime):
        return iso(value if value.tzinfo else value.replace(tzinfo=UTC))
    if isinstance(value, Date | Time | Duration):
        return value.iso_format()
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
