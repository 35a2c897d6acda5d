"""`orchestrate query`: Cypher, or a saved query, against the graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.completing import saved_names
from orchestrator.cli.invocation import Invocation, pass_invocation
from orchestrator.cli.render import machine
from orchestrator.cli.values import KeyValue, read_input_file
from orchestrator.domain.query import QueryResult
from orchestrator.reports.saved_queries import require_parameters, saved_queries, saved_query


@click.command("query")
@click.argument("cypher", required=False)
@click.option("--name", metavar="SAVED", shell_complete=saved_names, help="Run a saved query instead.")
@click.option("--list", "list_saved", is_flag=True, help="List the saved queries.")
@click.option("--param", "params", type=KeyValue(), multiple=True, help="A parameter; v is JSON, else a string.")
@click.option("--format", "format_", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
@click.option("--write", is_flag=True, help="Allow the query to change the graph.")
@pass_invocation
def command(
    invocation: Invocation,
    cypher: str | None,
    name: str | None,
    list_saved: bool,
    params: tuple[tuple[str, Any], ...],
    format_: str,
    write: bool,
) -> None:
    """Run CYPHER (`-` reads it from stdin), read-only unless --write.

    $repository is the current repository's id, unless --param sets it.
    """
    if list_saved:
        return show(_catalogue(), format_)
    if (cypher is None) == (name is None):
        raise click.UsageError("Give a Cypher statement, - for stdin, --name SAVED or --list.")
    if cypher in saved_queries():
        raise click.UsageError(f"{cypher} is the name of a saved query, which `--name {cypher}` runs.")
    text = read_input_file(Path("-")) if cypher == "-" else cypher
    if name is None and not (text or "").strip():
        raise click.UsageError("The Cypher statement is empty.")
    table = _answer(invocation, text, name, dict(params), write=write)
    return show(table, format_)


def _answer(
    invocation: Invocation, text: str | None, name: str | None, given: dict[str, Any], *, write: bool
) -> QueryResult:
    saved = saved_query(name) if name is not None else None
    bound = saved.bind(given) if saved else given
    statement = saved.cypher if saved else text or ""
    require_parameters(statement, {"repository": "", **bound})
    with invocation.app() as app:
        table = app.graph.query(statement, {"repository": app.repository.record.id, **bound}, write=write)
    if saved and not table.rows:  # the embedded server names no columns without a row
        return replace(table, columns=saved.columns)
    return table


def _catalogue() -> QueryResult:
    rows = [
        (q.name, q.title, [p.name for p in q.parameters if p.name != "repository"]) for q in saved_queries().values()
    ]
    return QueryResult(("name", "title", "parameters"), rows)


def show(table: QueryResult, format_: str) -> None:
    """Print a table in the format asked for."""
    if format_ == "json":
        machine.print_json(machine.table_objects(table))
    elif format_ == "csv":
        machine.print_csv(table)
    else:
        from orchestrator.cli.render.tables import print_table

        print_table(table)
