"""Running the questions of this room: one `.cypher` file each under cypher/, answered as dictionaries by column."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from orchestrator.domain.ports import GraphReader


@cache
def _cypher(name: str) -> str:
    return (files("orchestrator.reports") / "cypher" / f"{name}.cypher").read_text()


def ask_graph(reader: GraphReader, name: str, **parameters: Any) -> list[dict[str, Any]]:
    """The rows of cypher/NAME.cypher. Raises GraphError kinds."""
    table = reader.query(_cypher(name), parameters)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def ask_first(reader: GraphReader, name: str, **parameters: Any) -> dict[str, Any]:
    """The first of these rows; empty where there is none. Raises GraphError kinds."""
    return next(iter(ask_graph(reader, name, **parameters)), {})
