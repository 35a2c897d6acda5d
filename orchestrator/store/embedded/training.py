"""Makes the embedded server's ahead-of-time cache (cache.py): `python -m <this module> FILE HEAP_MB`.

The JVM writes the cache of what it ran at its exit, which takes it seconds. So no server that somebody uses does it: an
idle server's supervisor becomes this program once it has stopped its server and let go of everything. At the lowest
priority it starts a server of its own over an empty folder, makes the schema there, as every first start does, and
stops it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from orchestrator.domain.errors import GraphError
from orchestrator.store.connection import Connection
from orchestrator.store.embedded import supervisor
from orchestrator.store.embedded.answer import START_S, server_endpoint
from orchestrator.store.embedded.cache import is_ours, is_trusted
from orchestrator.store.embedded.launch import find_wheel, free_port, prepare_folder, server_command
from orchestrator.store.embedded.state import State
from orchestrator.store.endpoint import EndpointSource, GraphEndpoint, ask_server
from orchestrator.store.schema import ensure_schema

WRITING_S = 300.0
"""Seconds that the JVM gets to write the cache: some two on an idle machine, twenty on a busy one."""

UNUSED_S = 30 * 24 * 3600.0
"""Seconds after which a cache that no start used (of an older wheel, say) is deleted."""


def training(cache: Path | None, heap_mb: int) -> list[str]:
    """The command that makes it; empty where it is there, or where nobody wants one."""
    if cache is None or is_trusted(cache):
        return []
    return [sys.executable, "-I", "-m", __name__, str(cache), str(heap_mb)]


def train(cache: Path, heap_mb: int) -> None:
    """Make it, unless it is there, somebody is at it, or the folder is not ours alone. Raises OSError, GraphError."""
    cache.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not is_ours(cache.parent):
        return
    held = supervisor.lock(cache.parent / "training.lock", fcntl.LOCK_EX)
    if held is not None:
        with held:
            _train_alone(cache, heap_mb)


def _train_alone(cache: Path, heap_mb: int) -> None:
    if is_trusted(cache):
        return
    folder = cache.parent / "training"
    shutil.rmtree(folder, ignore_errors=True)  # of one that was killed
    try:
        _write(folder, heap_mb).replace(cache)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    remove_unused(cache.parent)


def _write(folder: Path, heap_mb: int) -> Path:
    """The fresh cache. Raises GraphError, FileNotFoundError where the JVM wrote none."""
    (folder / "server").mkdir(parents=True, mode=0o700)
    prepare_folder(folder)
    wheel, bolt, http = find_wheel(), free_port(), free_port()
    fresh = folder / "server.aot"
    line = server_command(
        wheel, folder, bolt_port=bolt, http_port=http, heap_mb=heap_mb, flags=[f"-XX:AOTCacheOutput={fresh}"]
    )
    jvm = supervisor.launch_jvm(line, folder)
    try:
        _exercise(jvm, server_endpoint(folder, State(jvm.pid, bolt, http, wheel.version)))
        jvm.terminate()
        jvm.wait(WRITING_S)
    finally:
        jvm.kill()  # what has ended by itself does not mind
        jvm.wait()
    fresh.chmod(0o600)
    return fresh


def _exercise(jvm: subprocess.Popen[bytes], endpoint: GraphEndpoint) -> None:
    """What a start does, up to a schema that is there."""
    deadline = time.monotonic() + START_S
    while ask_server(endpoint) != "yes":
        if jvm.poll() is not None or time.monotonic() > deadline:
            raise GraphError("The server to train with did not start.")
        time.sleep(0.1)
    source = EndpointSource(locate=lambda: endpoint)
    connection = Connection(source, wait_s=START_S, on_wait=lambda _message: None)
    try:
        ensure_schema(connection)
    finally:
        connection.close()


def remove_unused(folder: Path) -> None:
    """Delete the caches that no start has used for a month."""
    for cache in folder.glob("server-*.aot"):
        if time.time() - cache.stat().st_mtime > UNUSED_S:
            cache.unlink(missing_ok=True)


def main(arguments: Sequence[str]) -> None:
    """Make the cache that the command line names."""
    os.nice(19)
    train(Path(arguments[0]), int(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
