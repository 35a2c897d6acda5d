"""The answer to a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ResultRow = Mapping[str, Any]
"""One row by column."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A query's answer: column names and rows of plain values (nodes as
    `{labels, properties}`, relationships as `{type, properties}`)."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
