"""Every saved query: what it answers, what it takes, its columns and its Cypher."""

from __future__ import annotations

import json

from orchestrator.reports.saved_queries import Parameter, SavedQuery, saved_queries
from tests.support.drawn.markdown import fenced, paragraphs, table


def all_saved() -> str:
    """One section a query, by name."""
    return paragraphs(*map(_section, saved_queries().values()))


def _section(query: SavedQuery) -> str:
    cypher = "\n".join(line for line in query.cypher.splitlines() if not line.startswith("// "))
    taken = [p for p in query.parameters if p.name != "repository"]
    return paragraphs(
        f"### {query.name}",
        f"**{query.title}** {query.description}",
        f"`orchestrate query --name {query.name}`" + ("" if taken else ", which takes no parameter"),
        table(("parameter", "default", "meaning"), map(_parameter, taken)) if taken else "",
        f"Columns: {', '.join(f'`{column}`' for column in query.columns)}.",
        fenced("cypher", cypher),
    )


def _parameter(parameter: Parameter) -> tuple[str, str, str]:
    default = "required" if parameter.required else f"`{json.dumps(parameter.default)}`"
    return f"`{parameter.name}`", default, parameter.meaning
