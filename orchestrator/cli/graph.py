"""`orchestrate graph`: the graph server's life."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.invocation import GRAPH_WAIT_S, Invocation, pass_invocation, say
from orchestrator.cli.render.machine import print_json
from orchestrator.cli.render.text import clean
from orchestrator.cli.values import json_option
from orchestrator.domain.errors import GraphError

if TYPE_CHECKING:
    from orchestrator.app import App


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
        _show(_state(app), as_json)


@command.command("down")
@pass_invocation
def down(invocation: Invocation) -> None:
    """Stop the embedded server at once, whoever uses it."""
    from orchestrator.store.embedded.server import embedded_stop

    with invocation.app() as app:
        stopped = embedded_stop(app.home, say)
    click.echo("The embedded graph server is stopped." if stopped else "The embedded graph server was not running.")


@command.command("status")
@json_option
@pass_invocation
def status(invocation: Invocation, as_json: bool) -> None:
    """Say which server holds the graph, and where; start nothing.

    A Neo4j runs when it answers us; why it does not is said on stderr.
    """
    with invocation.app() as app:
        _show(_state(app), as_json)


def _state(app: App) -> dict[str, Any]:
    """The server of the graph, with the same keys whichever it is; None for what it does not have."""
    return _neo4j() if os.environ.get("NEO4J_URI") else _embedded(app)


def _embedded(app: App) -> dict[str, Any]:
    from orchestrator.store.embedded.launch import DATABASE
    from orchestrator.store.embedded.server import embedded_status

    found = embedded_status(app.home)
    return {
        "server": "embedded",
        "running": found.running,
        "uri": found.uri,
        "database": DATABASE,
        "version": found.version,
        "pid": found.pid,
        "username": "root",
        "passwordFile": str(found.folder / "root-password"),
        "folder": str(found.folder),
    }


def _neo4j() -> dict[str, Any]:
    from orchestrator.store.endpoint import neo4j_endpoint
    from orchestrator.store.graph_store import neo4j_server

    endpoint, version = neo4j_endpoint(os.environ), None
    try:
        version = neo4j_server(os.environ, wait_s=GRAPH_WAIT_S).version
    except GraphError as error:
        say(error)
    return {
        "server": "neo4j",
        "running": version is not None,
        "uri": endpoint.uri,
        "database": endpoint.database or "neo4j",
        "version": version,
        "pid": None,
        "username": endpoint.username,
        "passwordFile": None,
        "folder": None,
    }


def _show(state: dict[str, Any], as_json: bool) -> None:
    if as_json:
        return print_json(state)
    for name, value in state.items():
        if value is not None:
            click.echo(f"{name:>12}  {clean(str(value).lower() if isinstance(value, bool) else value)}")
    return None
