"""What all records in the graph share: the connection, the text rules, how a record becomes a row and comes back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from orchestrator.domain.errors import StaleFenceError
from orchestrator.store.connection import Connection, Row, Transaction
from orchestrator.store.mapping import build, finish, iso, properties
from orchestrator.store.redaction import Redaction

_T = TypeVar("_T")

LIVE = ["running", "awaiting_qc"]
"""Statuses of an attempt about which something may still be written."""


class Records:
    """Records of one kind, and what is done with them. Safe to share between threads."""

    def __init__(self, connection: Connection, texts: Redaction) -> None:
        self._connection = connection
        self._texts = texts

    def _row(self, record: Any, *, without: tuple[str, ...] = (), **more: Any) -> Row:
        """A dataclass's properties and some more, as they are stored."""
        return self._stored(properties(record, without=without) | more)

    def _stored(self, values: Mapping[str, Any]) -> Row:
        """Properties redacted, cut and written out."""
        return finish(self._texts.fit(values))

    def _rows(self, name: str, **parameters: Any) -> list[Row]:
        """What one statement reads, in a transaction of its own."""
        return self._connection.read(lambda tx: tx.run(name, **parameters))

    def _build(self, cls: type[_T], stored: Row, **known: Any) -> _T:
        """A dataclass from a node's properties, its long texts whole."""
        return build(cls, self._texts.whole(stored), **known)


def fence(tx: Transaction, attempt_id: str, expected: int | None, at: datetime | None = None) -> Row:
    """Lock the attempt, then refuse when its fence is not `expected` or it is closed. The first statement of
    every write about an attempt; `at` tells that something happened to it. Returns its fence, status, repository and
    finishedAt."""
    if at is None:
        rows = tx.run("attempt_touch", attemptId=attempt_id, by=str(expected))
    else:
        rows = tx.run("attempt_lock", attemptId=attempt_id, at=iso(at))
    if not rows:
        raise StaleFenceError(f"Attempt {attempt_id} is not in the graph.")
    if rows[0]["fence"] != expected or rows[0]["status"] not in LIVE:
        raise stale(attempt_id, expected, rows[0])
    return rows[0]


def stale(attempt_id: str, expected: int | None, found: Row) -> StaleFenceError:
    """The error of a writer that lost its task."""
    return StaleFenceError(
        f"Attempt {attempt_id} was taken over: our fence is {expected}, the graph's is {found['fence']} "
        f"(status {found['status']}).",
        next_step="Nothing more is written for it; the process that took it over goes on.",
    )
