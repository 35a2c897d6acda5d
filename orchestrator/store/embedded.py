"""The embedded graph server's life: one ArcadeDB process per ORCHESTRATE_HOME, started on demand, shared, self-healing.

Files under `<home>/graph`: `clients.lock` (held shared by every client for life), `start.lock` (held while starting),
`supervisor.lock` (held by the supervisor for life), `server.json` (pids and ports of the running server), two 0600
password files, `server.log`, and `server/` with the data. See supervisor.py for who stops the server and when.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import neo4j
from neo4j.exceptions import DriverError, Neo4jError

from orchestrator.domain.errors import GraphError
from orchestrator.store import supervisor
from orchestrator.store.embedded_launch import DATABASE, READER, command, find_wheel, free_port, password, prepare
from orchestrator.store.endpoint import Endpoint

IDLE_S = 15 * 60.0
HEAP_MB = 512
START_S = 90.0
TRIES = 3


@dataclass(frozen=True, slots=True)
class EmbeddedStatus:
    """The embedded server of a home. Ports and pids are None when it does not run."""

    running: bool
    folder: Path
    version: str | None = None
    uri: str | None = None
    http: str | None = None
    pid: int | None = None
    supervisor: int | None = None


def embedded_status(home: Path) -> EmbeddedStatus:
    """Whether the embedded server of `home` runs, and where; starts nothing."""
    folder = home / "graph"
    state = _read_state(folder)
    if state is None or not _supervised(folder):
        return EmbeddedStatus(running=False, folder=folder)
    return EmbeddedStatus(
        running=True,
        folder=folder,
        version=state["version"],
        uri=_uri(state),
        http=f"http://127.0.0.1:{state['http_port']}",
        pid=state["pid"],
        supervisor=state["supervisor"],
    )


def embedded_stop(home: Path) -> bool:
    """Stop the embedded server of `home` at once, whoever uses it; False when it did not run."""
    folder = home / "graph"
    if not folder.is_dir():
        return False
    with _exclusive(folder / "start.lock"):
        return _stop(folder)


class Embedded:
    """One client's hold on the embedded server of a home. `locate` starts it when needed; the hold keeps it alive."""

    def __init__(self, home: Path, *, idle_s: float = IDLE_S, heap_mb: int = HEAP_MB) -> None:
        self._folder = home / "graph"
        self._idle_s = idle_s
        self._heap_mb = heap_mb
        self._hold: IO[bytes] | None = None

    def locate(self) -> Endpoint:
        """The running server's endpoint, started first if need be. Raises GraphError when it cannot be had."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._take_hold()
            with _exclusive(self._folder / "start.lock"):
                return self._running() or self._start()
        except OSError as error:
            raise GraphError(
                f"The embedded graph cannot use {self._folder}: {error.strerror or error}.",
                next_step="Free disk space or permissions there, or point ORCHESTRATE_HOME elsewhere.",
            ) from error

    def release(self) -> None:
        """Let go: the server stops after its idle time when nobody else holds it."""
        if self._hold is not None:
            self._hold.close()
            self._hold = None

    def _take_hold(self) -> None:
        path = self._folder / "clients.lock"
        if self._hold is None:
            self._hold = path.open("ab")
            fcntl.flock(self._hold, fcntl.LOCK_SH)
        os.utime(path)  # a visit shorter than the supervisor's look counts as use too

    def _running(self) -> Endpoint | None:
        """The endpoint of a live server; what is left of a dead one is cleared away."""
        state = _await_state(self._folder)
        if state is not None:
            endpoint = _endpoint(self._folder, state)
            if _await_ready(self._folder, endpoint):
                return endpoint
        _stop(self._folder)
        return None

    def _start(self) -> Endpoint:
        wheel = find_wheel()
        prepare(self._folder)
        for _ in range(TRIES):
            ports = {"bolt_port": free_port(), "http_port": free_port()}
            launch = {
                "folder": str(self._folder),
                "command": command(wheel, self._folder, heap_mb=self._heap_mb, **ports),
                "idle_s": self._idle_s,
                "version": wheel.version,
                **ports,
            }
            _spawn(launch)
            endpoint = self._running()
            if endpoint is not None:
                _create_reader(self._folder, ports["http_port"])
                return endpoint
        raise GraphError(
            f"The embedded graph did not start in {TRIES} tries; it said: {_last_words(self._folder)}",
            next_step=f"See {self._folder / 'server.log'}, or set NEO4J_URI to use a Neo4j of yours.",
        )


def _uri(state: dict[str, Any]) -> str:
    return f"bolt://127.0.0.1:{state['bolt_port']}"


def _endpoint(folder: Path, state: dict[str, Any]) -> Endpoint:
    return Endpoint(
        kind="embedded",
        uri=_uri(state),
        username="root",
        password=password(folder / "root-password"),
        database=DATABASE,
        reader=(READER, password(folder / "reader-password")),
    )


def _read_state(folder: Path) -> dict[str, Any] | None:
    """`server.json`, or None when it is missing or not ours to understand."""
    try:
        state = json.loads((folder / "server.json").read_text())
        return {key: state[key] for key in ("pid", "supervisor", "bolt_port", "http_port", "version")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _supervised(folder: Path) -> bool:
    free = supervisor.lock(folder / "supervisor.lock", fcntl.LOCK_EX)
    if free is not None:
        free.close()
    return free is None


def _await_state(folder: Path) -> dict[str, Any] | None:
    """The state of a supervised server; a supervisor that has just taken its lock needs a moment to write it."""
    deadline = time.monotonic() + 5
    while _supervised(folder) and time.monotonic() < deadline:
        state = _read_state(folder)
        if state is not None:
            return state
        time.sleep(0.02)
    return None


def _await_ready(folder: Path, endpoint: Endpoint) -> bool:
    """Whether the server answers a query before its supervisor gives it up."""
    deadline = time.monotonic() + START_S
    while _supervised(folder) and not _main_died(folder) and time.monotonic() < deadline:
        if _answers(endpoint):
            return True
        time.sleep(0.02)
    return False


def _main_died(folder: Path) -> bool:
    """Whether the server gave up, for example because its port is taken: its other threads keep the JVM alive then."""
    try:
        return 'Exception in thread "main"' in (folder / "server.log").read_text(errors="replace")
    except OSError:
        return False


def _answers(endpoint: Endpoint) -> bool:
    auth = (endpoint.username, endpoint.password)
    try:
        with neo4j.GraphDatabase.driver(
            endpoint.uri,
            auth=auth,
            connection_timeout=5,
            connection_acquisition_timeout=5,
            max_transaction_retry_time=0,
            initial_retry_delay=0.01,
        ) as driver:
            driver.execute_query("RETURN 1", database_=endpoint.database)  # Bolt listens before the database is there
    except (DriverError, Neo4jError):
        return False
    return True


def _spawn(launch: dict[str, Any]) -> None:
    """Start the supervisor in a session of its own and wait until it holds its lock or is gone."""
    folder = Path(launch["folder"])
    (folder / "server.json").unlink(missing_ok=True)
    child = subprocess.Popen(
        [sys.executable, "-I", supervisor.__file__, json.dumps(launch)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 10
    while child.poll() is None and not _read_state(folder) and time.monotonic() < deadline:
        time.sleep(0.01)


def _create_reader(folder: Path, http_port: int) -> None:
    """The second user, whose group may only read records. It is there already unless the data is new."""
    user = {
        "name": READER,
        "password": password(folder / "reader-password"),
        "databases": {DATABASE: ["readers"]},
    }
    token = base64.b64encode(f"root:{password(folder / 'root-password')}".encode()).decode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{http_port}/api/v1/server",
        data=json.dumps({"command": f"create user {json.dumps(user)}"}).encode(),
        headers={"Authorization": f"Basic {token}", "Content-Type": "application/json"},
    )
    # An HTTP error says that the user exists; a connection error is a server that died, found by the first query.
    with contextlib.suppress(urllib.error.URLError), urllib.request.urlopen(request, timeout=10):  # noqa: S310
        pass


def _stop(folder: Path) -> bool:
    """End supervisor and server, also a server whose supervisor was killed; True when one of them was there."""
    state = _read_state(folder)
    found = False
    if state is not None and _supervised(folder):
        found = True
        _signal(state["supervisor"], signal.SIGTERM)
        _wait_until(lambda: not _supervised(folder), supervisor.STOP_S + 5)
    if state is not None and _is_our_jvm(state["pid"], folder):
        found = True
        _signal(state["pid"], signal.SIGKILL)  # nobody is left to ask it politely; its log makes this safe
        _wait_until(lambda: not _is_our_jvm(state["pid"], folder), 5)
    (folder / "server.json").unlink(missing_ok=True)
    return found


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _is_our_jvm(pid: int, folder: Path) -> bool:
    """Whether `pid` is still the server over `folder`, and not somebody else's by reuse of the number."""
    listing = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return f"-Darcadedb.server.rootPath={folder / 'server'}" in listing.stdout


def _wait_until(done: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        time.sleep(0.02)


@contextlib.contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _last_words(folder: Path) -> str:
    try:
        lines = (folder / "server.log").read_text(errors="replace").strip().splitlines()
    except OSError:
        return "nothing"
    return lines[-1][:300] if lines else "nothing"
