"""Whether the embedded server answers, waited for within bounds and not in silence; and its second user."""

from __future__ import annotations

import base64
import contextlib
import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import neo4j
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from orchestrator.store.embedded.launch import DATABASE, READER, USERS, password
from orchestrator.store.embedded.state import QUIET_S, State, await_state, read_state, supervised
from orchestrator.store.endpoint import GraphEndpoint

START_S = 60.0
"""Seconds that a server gets to start: one on an idle machine, some twenty on a busy one, more over a large log."""

SILENT_S = 20.0
"""Seconds that a server that has started may not answer before it is replaced."""

_STARTED = "ArcadeDB Server started in"
_REFUSED_CACHE = "[aot]"
"""In a line of the JVM's own log: it says nothing about a cache that it takes."""

_GAVE_UP = 'Exception in thread "main"'
"""For example because its port is taken: its other threads keep the JVM alive then."""


def await_answer(folder: Path, on_wait: Callable[[str], None]) -> GraphEndpoint | None:
    """The endpoint of a supervised server as soon as it answers a query. None when there is none, when it gave up, when
    it refuses our password (waiting cannot help) or when it has been silent for too long."""
    began, told = time.monotonic(), 0.0
    while supervised(folder) and (state := await_state(folder)):  # read each time: a damaged file is repaired meanwhile
        endpoint = server_endpoint(folder, state)
        answer = ask_server(endpoint)
        if answer != "nothing":
            return endpoint if answer == "yes" else None
        log = read_log(folder)
        started, waited = _STARTED in log, time.monotonic() - began
        limit = SILENT_S if started else START_S
        if _GAVE_UP in log or waited >= limit:
            return None
        if waited - told >= QUIET_S:
            told = waited
            doing = "does not answer" if started else "is starting"
            on_wait(f"The embedded graph server {doing}; waiting up to {limit - waited:.0f} s more.")
        time.sleep(0.02 if started else 0.1)  # asking costs a driver's handshake: time that the JVM needs to start
    return None


def server_endpoint(folder: Path, state: State) -> GraphEndpoint:
    """Where a server of that state answers, with the passwords of the folder."""
    return GraphEndpoint(
        kind="embedded",
        uri=state.uri,
        username="root",
        password=password(folder / "root-password"),
        database=DATABASE,
        reader=(READER, password(folder / "reader-password")),
    )


def ask_server(endpoint: GraphEndpoint) -> Literal["yes", "refused", "nothing"]:
    """What comes back when the server is asked a query within some seconds."""
    try:
        with neo4j.GraphDatabase.driver(
            endpoint.uri,
            auth=(endpoint.username, endpoint.password),
            connection_timeout=5,
            connection_acquisition_timeout=5,
            max_transaction_retry_time=0,
            initial_retry_delay=0.01,
        ) as driver:
            driver.execute_query("RETURN 1", database_=endpoint.database)  # Bolt listens before the database is there
    except AuthError:
        return "refused"
    except (DriverError, Neo4jError):
        return "nothing"
    return "yes"


def ensure_reader(folder: Path) -> None:
    """Make the second user, whose group may only read records, unless this start of the server has it already. The
    server may answer Bolt a moment before it answers HTTP."""
    deadline = time.monotonic() + SILENT_S
    while supervised(folder) and f'"{READER}"' not in (folder / USERS).read_text() and time.monotonic() < deadline:
        state = read_state(folder)
        if state is not None:
            _create_reader(folder, state)
        time.sleep(0.02)


def _create_reader(folder: Path, state: State) -> None:
    user = {"name": READER, "password": password(folder / "reader-password"), "databases": {DATABASE: ["readers"]}}
    token = base64.b64encode(f"root:{password(folder / 'root-password')}".encode()).decode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{state.http_port}/api/v1/server",
        data=json.dumps({"command": f"create user {json.dumps(user)}"}).encode(),
        headers={"Authorization": f"Basic {token}", "Content-Type": "application/json"},
    )
    with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=5):  # noqa: S310
        pass


def read_log(folder: Path) -> str:
    """What the server said since it was launched."""
    try:
        return (folder / "server.log").read_text(errors="replace")
    except OSError:
        return ""


def refused_cache(folder: Path) -> bool:
    """Whether it started without the cache that it was given, because that is damaged or another's."""
    return _REFUSED_CACHE in read_log(folder)


def last_words(folder: Path) -> str:
    """The last line that it said."""
    lines = read_log(folder).strip().splitlines()
    return lines[-1][:300] if lines else "nothing"
