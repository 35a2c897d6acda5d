"""Whether the embedded server answers, waited for within bounds and not in silence; and its second user."""

from __future__ import annotations

import base64
import json
import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from orchestrator.store.embedded.launch import DATABASE, READER, password
from orchestrator.store.embedded.state import QUIET_S, State, await_state, supervised
from orchestrator.store.embedded.supervisor import USERS
from orchestrator.store.endpoint import GraphEndpoint, ask_server

START_S = 60.0
"""Seconds that a server gets to start: one on an idle machine, some twenty on a busy one, more over a large log."""

SILENT_S = 20.0
"""Seconds that a server that has started may not answer before it is replaced."""

REFUSALS = 5
"""Refusals of our password in a row that are believed: a server that ends, and one that reads its users anew, know
nobody for a moment."""

READER_S = 10.0
"""Seconds that making the second user may take."""

_STARTED = "ArcadeDB Server started in"
_REFUSED_CACHE = "[aot]"
"""In a line of the JVM's own log: it says nothing about a cache that it takes."""

_GAVE_UP = 'Exception in thread "main"'
"""For example because its port is taken: its other threads keep the JVM alive then."""


def await_answer(folder: Path, on_wait: Callable[[str], None]) -> GraphEndpoint | None:
    """The endpoint of a supervised server as soon as it answers a query. None when there is none, when it gave up, when
    it goes on refusing our password (waiting cannot help) or when it has been silent for too long."""
    began, told, refusals = time.monotonic(), 0.0, 0
    while supervised(folder) and (state := await_state(folder)):  # read each time: a damaged file is repaired meanwhile
        endpoint = server_endpoint(folder, state)
        answer = ask_server(endpoint)
        if answer == "yes":
            return endpoint
        refusals = refusals + 1 if answer == "refused" else 0
        log = read_log(folder)
        started, waited = _STARTED in log, time.monotonic() - began
        limit = SILENT_S if started else START_S
        if refusals == REFUSALS or _GAVE_UP in log or waited >= limit:
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


def ensure_reader(folder: Path, *, closely: bool) -> bool:
    """Make the second user, whose group may only read records, where the server does not have it. What its file of
    users says is believed, unless it is looked at `closely`: then the user logs in. False when it cannot be had. The
    server may answer Bolt a moment before it answers HTTP."""
    deadline = time.monotonic() + READER_S
    while supervised(folder) and (state := await_state(folder)):
        endpoint = server_endpoint(folder, state)
        if ask_server(as_reader(endpoint)) == "yes" if closely else _lists_reader(folder):
            return True
        if time.monotonic() > deadline:
            return False
        _make_reader(folder, state)
        time.sleep(0.02)
    return False


def as_reader(endpoint: GraphEndpoint) -> GraphEndpoint:
    """The same server for the second user."""
    user, secret = endpoint.reader or (endpoint.username, endpoint.password)
    return replace(endpoint, username=user, password=secret)


def _lists_reader(folder: Path) -> bool:
    try:
        return f'"{READER}"' in (folder / USERS).read_text(errors="replace")
    except OSError:
        return False


def _make_reader(folder: Path, state: State) -> None:
    """Create it; where that is refused, because there is one with another password, delete it for the next try."""
    user = {"name": READER, "password": password(folder / "reader-password"), "databases": {DATABASE: ["readers"]}}
    if not tell_server(folder, state, f"create user {json.dumps(user)}"):
        tell_server(folder, state, f"drop user {READER}")


def tell_server(folder: Path, state: State, text: str) -> bool:
    """Whether the server has done what its HTTP interface was told."""
    token = base64.b64encode(f"root:{password(folder / 'root-password')}".encode()).decode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{state.http_port}/api/v1/server",
        data=json.dumps({"command": text}).encode(),
        headers={"Authorization": f"Basic {token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=5):  # noqa: S310
            return True
    except OSError:
        return False


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
