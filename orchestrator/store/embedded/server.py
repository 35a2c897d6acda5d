"""The embedded graph server's life: one ArcadeDB process per ORCHESTRATE_HOME, started on demand, shared, self-healing.

Files under `<home>/graph`: `clients.lock` (held shared by every client for life), `start.lock` (held while starting),
`supervisor.lock` (held by the supervisor for life, with its pid), `server.json` (pid and ports of the running server),
two 0600 password files, `server.log`, and `server/` with the data. See supervisor.py for who stops the server and when.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from orchestrator.domain.errors import GraphError
from orchestrator.store.embedded import supervisor
from orchestrator.store.embedded.answer import await_answer, ensure_reader, last_words, refused_cache
from orchestrator.store.embedded.cache import cache_file, cache_flags, discard
from orchestrator.store.embedded.launch import find_wheel, free_port, passwords_kept, prepare_folder, server_command
from orchestrator.store.embedded.state import (
    await_state,
    exclusive,
    read_state,
    stop_server,
    supervised,
    supervisor_pid,
    wait_until,
)
from orchestrator.store.embedded.training import training
from orchestrator.store.endpoint import GraphEndpoint

IDLE_S = 15 * 60.0
HEAP_MB = 512
TRIES = 3


def unheard(_message: str) -> None:
    """Where nobody wants to hear of waits."""


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
    state = await_state(folder)
    if state is None:
        return EmbeddedStatus(running=supervised(folder), folder=folder, supervisor=supervisor_pid(folder))
    return EmbeddedStatus(
        running=True,
        folder=folder,
        version=state.version,
        uri=state.uri,
        http=f"http://127.0.0.1:{state.http_port}",
        pid=state.pid,
        supervisor=supervisor_pid(folder),
    )


def embedded_stop(home: Path, on_wait: Callable[[str], None] = unheard) -> bool:
    """Stop the embedded server of `home` at once, whoever uses it; False when it did not run."""
    folder = home / "graph"
    if not folder.is_dir():
        return False
    with exclusive(folder / "start.lock", on_wait):
        return stop_server(folder)


class Embedded:
    """One client's hold on the embedded server of a home. `locate` starts it when needed; the hold keeps it alive.
    `caches` is the folder of what makes a start quicker, None for no such thing."""

    def __init__(
        self,
        home: Path,
        *,
        idle_s: float = IDLE_S,
        heap_mb: int = HEAP_MB,
        on_wait: Callable[[str], None] = unheard,
        caches: Path | None = None,
    ) -> None:
        self._folder = home / "graph"
        self._idle_s = idle_s
        self._heap_mb = heap_mb
        self._on_wait = on_wait
        self._caches = caches
        self._hold: IO[bytes] | None = None
        self._located = False

    def locate(self) -> GraphEndpoint:
        """The running server's endpoint, started first if need be. Who asks again was cut off or refused: then the
        server is looked at more closely. Raises GraphError when it cannot be had."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._take_hold()
            with exclusive(self._folder / "start.lock", self._on_wait):
                endpoint = self._running() or self._start()
                self._located = True
                return endpoint
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
        if self._hold is not None and not supervisor.is_still(self._hold, path):
            self.release()  # the folder was deleted and made anew: the old file proves nothing to a new supervisor
        if self._hold is None:
            self._hold = path.open("ab")
            fcntl.flock(self._hold, fcntl.LOCK_SH)
        os.utime(path)  # a visit shorter than the supervisor's look counts as use too

    def _running(self) -> GraphEndpoint | None:
        """The endpoint of a live server. One that is of no use is ended, what is left of a dead one cleared away."""
        if not passwords_kept(self._folder):
            stop_server(self._folder)  # it lets nobody in any more; a new start takes new passwords
            return None
        endpoint = await_answer(self._folder, self._on_wait)
        # Who started the server may have been killed before it could make the second user.
        if endpoint is not None and ensure_reader(self._folder, closely=self._located):
            return endpoint
        stop_server(self._folder, politely=False)
        return None

    def _start(self) -> GraphEndpoint:
        wheel = find_wheel()
        cache = cache_file(self._caches, wheel, self._heap_mb) if self._caches else None
        for _ in range(TRIES):
            prepare_folder(self._folder)
            ports = {"bolt_port": free_port(), "http_port": free_port()}
            launch = {
                "folder": str(self._folder),
                "command": server_command(
                    wheel, self._folder, heap_mb=self._heap_mb, flags=cache_flags(cache), **ports
                ),
                "idle_s": self._idle_s,
                "version": wheel.version,
                "training": training(cache, self._heap_mb),
                **ports,
            }
            _spawn(launch)
            endpoint = self._running()
            if endpoint is None or refused_cache(self._folder):
                discard(cache)
            if endpoint is not None:
                return endpoint
        raise GraphError(
            f"The embedded graph did not start in {TRIES} tries; it said: {last_words(self._folder)}",
            next_step=f"See {self._folder / 'server.log'}, or set NEO4J_URI to use a Neo4j of yours.",
        )


_INHERITED = frozenset({"PATH", "HOME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH"})
"""What of the environment the server sees, which outlives the command that started it: no key, token or password."""


def _spawn(launch: dict[str, Any]) -> None:
    """Start the supervisor in a session of its own and wait until it has told where the server is, or is gone."""
    folder = Path(launch["folder"])
    (folder / "server.json").unlink(missing_ok=True)
    child = subprocess.Popen(
        [sys.executable, "-I", supervisor.__file__, json.dumps(launch)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith("LC_")},
    )
    wait_until(lambda: child.poll() is not None or read_state(folder) is not None, 10)
