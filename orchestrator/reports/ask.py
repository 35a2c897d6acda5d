"""Running the questions of this room: one `.cypher` file each under cypher/, answered as dictionaries by column."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from orchestrator.domain.graph_ports import GraphReader
from orchestrator.domain.query import ResultRow
from orchestrator.domain.task import Assessment


@cache
def _cypher(name: str) -> str:
    return (files("orchestrator.reports") / "cypher" / f"{name}.cypher").read_text()


def ask_graph(reader: GraphReader, name: str, **parameters: Any) -> list[dict[str, Any]]:
    """The rows of cypher/NAME.cypher. Raises GraphError kinds."""
    table = reader.query(_cypher(name), parameters)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def attempt_figures(reader: GraphReader, of: str) -> tuple[ResultRow, ...]:
    """What the attempts of a plan, run or task, or the one attempt, have come to, in the order in which they began: the
    one count that all screens show. Raises GraphError kinds."""
    ids = [row["attempt"] for row in ask_graph(reader, "attempts_of", of=of)]
    return tuple(ask_graph(reader, "attempt_figures", ids=ids)) if ids else ()


def ask_first(reader: GraphReader, name: str, **parameters: Any) -> dict[str, Any]:
    """The first of these rows; empty where there is none. Raises GraphError kinds."""
    return next(iter(ask_graph(reader, name, **parameters)), {})


def loosened_assessments(reader: GraphReader, plan_id: str) -> dict[str, Assessment]:
    """Of a plan's tasks, by key, those assessments that name a bound set wider than its default."""
    judged = ((state.task.key, state.assessment) for state in reader.tasks(plan_id))
    return {key: assessment for key, assessment in judged if assessment is not None and assessment.loosened}
