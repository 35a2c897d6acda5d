"""`orchestrate graph`: the graph server's life."""

from __future__ import annotations

import os
from typing import Any

import click

from orchestrator.cli.invocation import Invocation, pass_invocation
from orchestrator.cli.values import json_option


@click.group("graph")
def command() -> None:
    """Start, stop or look at the graph server.

    Without NEO4J_URI that is the embedded server of this repository. It starts by itself when it is needed and stops
    by itself after 15 minutes without a client.
    """


@command.command("up")
@json_option
@pass_invocation
def up(invocation: Invocation, as_json: bool) -> None:
    """Start the embedded server, or see that the Neo4j of NEO4J_URI answers."""
    with invocation.app() as app:
        app.graph.query("RETURN 1 AS up")
        _show(_state(app.home), as_json)


@command.command("down")
@pass_invocation
def down(invocation: Invocation) -> None:
    """Stop the embedded server at once, whoever uses it."""
    from orchestrator.store.embedded import embedded_stop

    with invocation.app() as app:
        stopped = embedded_stop(app.home)
    click.echo("The embedded graph server is stopped." if stopped else "The embedded graph server was not running.")


@command.command("status")
@json_option
@pass_invocation
def status(invocation: Invocation, as_json: bool) -> None:
    """Say which server holds the graph, and where; start nothing."""
    with invocation.app() as app:
        _show(_state(app.home), as_json)


def _state(home: Any) -> dict[str, Any]:
    from orchestrator.store.embedded import embedded_status

    if uri := os.environ.get("NEO4J_URI"):
        return {"server": "neo4j", "uri": uri, "database": os.environ.get("NEO4J_DATABASE", "neo4j")}
    found = embedded_status(home)
    return {
        "server": "embedded",
        "running": found.running,
        "uri": found.uri,
        "version": found.version,
        "pid": found.pid,
        "username": "root",
        "passwordFile": str(found.folder / "root-password"),
        "folder": str(found.folder),
    }


def _show(state: dict[str, Any], as_json: bool) -> None:
    if as_json:
        from orchestrator.cli.render.machine import print_json

        return print_json(state)
    for name, value in state.items():
        if value is not None:
            click.echo(f"{name:>12}  {str(value).lower() if isinstance(value, bool) else value}")
    return None
