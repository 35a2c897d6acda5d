"""The command line of the embedded server: ArcadeDB's jars on the JRE that the `arcadedb-embedded` wheel brings."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.errors import GraphError

DATABASE = "orchestrate"
PAGE = 16 * 1024
"""Bytes of a page of data: an empty graph takes 1.3 MB instead of 8 MB, and grows evenly from the first step on."""

READER = "reader"
SHORTEST = 8
"""Characters of a password: the server does not start with fewer."""

WAYS_OUT = (
    "Install the extra (`pip install 'orchestrate[embedded]'`; there is no wheel for Intel Macs or glibc below 2.34), "
    "or set NEO4J_URI, NEO4J_USERNAME and NEO4J_PASSWORD to use a Neo4j of yours."
)

_ALL = ["createRecord", "readRecord", "updateRecord", "deleteRecord"]


def _group(access: Sequence[str], records: Sequence[str]) -> dict[str, object]:
    return {"resultSetLimit": -1, "readTimeout": -1, "access": access, "types": {"*": {"access": records}}}


_GROUPS = {
    "databases": {
        "*": {
            "groups": {
                "admin": _group(["updateSecurity", "updateSchema", "updateDatabaseSettings"], _ALL),
                "readers": _group([], ["readRecord"]),
                "*": _group([], []),
            }
        }
    },
    "version": 2,
}


@dataclass(frozen=True, slots=True)
class Wheel:
    """Where the wheel keeps its parts, and its version."""

    java: Path
    jars: Path
    version: str


def find_wheel() -> Wheel:
    """The installed wheel, without importing it (its import would load a JVM into us)."""
    spec = importlib.util.find_spec("arcadedb_embedded")
    if spec is None or not spec.submodule_search_locations:
        raise GraphError("No graph: NEO4J_URI is not set and the embedded server is not installed.", next_step=WAYS_OUT)
    root = Path(next(iter(spec.submodule_search_locations)))
    wheel = Wheel(root / "jre/bin/java", root / "jars", importlib.metadata.version("arcadedb-embedded"))
    if not wheel.java.is_file():
        raise GraphError(f"The installed arcadedb-embedded {wheel.version} has no JRE.", next_step=WAYS_OUT)
    return wheel


def free_port() -> int:
    """A loopback port that is free now. Somebody may take it before the server does; the start is then repeated."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def password(path: Path) -> str:
    """The random password in `path`, made at the first call; readable by the user alone."""
    if not _is_whole(path):
        fresh = path.with_name(f"{path.name}.new")
        fresh.touch(mode=0o600)
        fresh.chmod(0o600)
        fresh.write_text(secrets.token_urlsafe(24))
        fresh.replace(path)
    return path.read_text().strip()


def passwords_kept(folder: Path) -> bool:
    """Whether both password files are there still, and not cut short."""
    return _is_whole(folder / "root-password") and _is_whole(folder / "reader-password")


def _is_whole(path: Path) -> bool:
    return path.exists() and len(path.read_text().strip()) >= SHORTEST


def prepare_folder(folder: Path) -> None:
    """Passwords and user groups, before a start. Files that a killed start has left half written are written again."""
    password(folder / "root-password")
    password(folder / "reader-password")
    groups = folder / "server/config/server-groups.json"
    if not _is_json(groups):
        groups.parent.mkdir(parents=True, exist_ok=True)
        groups.write_text(json.dumps(_GROUPS, indent=2))


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text())
    except (OSError, ValueError):
        return False
    return True


_JVM = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # the optimising compiler's threads cost a laptop's cores more than they win here
    "-Djava.awt.headless=true",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.management/sun.management=ALL-UNNAMED",
    "--add-modules=jdk.incubator.vector",
)


def server_command(
    wheel: Wheel, folder: Path, *, bolt_port: int, http_port: int, heap_mb: int, flags: Sequence[str] = ()
) -> list[str]:
    """The JVM's argument list, with more `flags` of its own. `txWalFlush=2` syncs the log with every commit; mode
    `development` because `production` hides Cypher errors; the password goes by file, never on the command line. Our
    passwords are 192 random bits, which no iteration of their hash makes harder to guess; metrics and scripts in other
    languages are asked for by nobody: without the three a start takes a fifth less."""
    root = folder / "server"
    settings = {
        "server.rootPath": root,
        "server.rootPasswordPath": folder / "root-password",
        "server.mode": "development",
        "server.defaultDatabases": f"{DATABASE}[root]",
        "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
        "server.httpIncomingHost": "127.0.0.1",
        "server.httpIncomingPort": http_port,
        "bolt.host": "127.0.0.1",
        "bolt.port": bolt_port,
        "bolt.defaultDatabase": DATABASE,
        "server.saltIterations": 1,
        "serverMetrics": "false",
        "polyglotEngineEnabled": "false",
        "server.databaseDirectory": root / "databases",
        "server.logsDirectory": root / "log",
        "txWalFlush": 2,
        "bucketDefaultPageSize": PAGE,
        "indexDefaultPageSize": 2 * PAGE,
    }
    return [
        str(wheel.java),
        *flags,
        f"-Xmx{heap_mb}m",
        *_JVM,
        *(f"-Darcadedb.{name}={value}" for name, value in settings.items()),
        "-cp",
        f"{wheel.jars}/*",
        "com.arcadedb.server.ArcadeDBServer",
    ]
