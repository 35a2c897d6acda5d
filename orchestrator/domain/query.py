"""The answer to a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A query's answer: column names and rows of plain values (nodes and relationships as cli.md has them)."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
