"""The real Neo4j of a test run: the one that NEO4J_URI names, else one container for all processes of pytest-xdist.

The first process that has collected a test for it starts the container in the background, and whoever needs it waits.
Where none can be had, one test of the whole run fails and says why, the others are skipped with the same words; where
there is no Docker and REQUIRE_NEO4J is not 1, all are skipped. The container is removed at the end of the run.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from orchestrator.domain.errors import OrchestrateError
from orchestrator.store.graph_store import neo4j_server

ROOT = Path(__file__).parents[2]
IMAGE = "neo4j:5.26-community"
ANSWER_S = 30.0


@dataclass(frozen=True)
class Neo4j:
    """How to reach it; or why it cannot be reached, and whether that is a failure."""

    environ: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    failure: bool = False


def run_folder(config: pytest.Config) -> Path:
    """A folder that all processes of this test run know and no other run does."""
    factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]  # has no public name
    own = factory.getbasetemp()
    return own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own


def ask_for_neo4j(folder: Path, environ: Mapping[str, str] | None = None) -> Neo4j:
    """The run's Neo4j, started if nobody has asked yet; whoever comes meanwhile waits."""
    state = folder / "neo4j.json"
    with _locked(folder):
        if not state.exists():
            state.write_text(json.dumps(asdict(_find(folder, environ or os.environ))))
        return Neo4j(**json.loads(state.read_text()))


def ask_in_background(folder: Path) -> None:
    """Begin to start it; the tests that need it will ask again. In a process of its own, because tests change this
    one's environment meanwhile."""
    os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")  # the reaper's image is one more to pull
    command = (sys.executable, "-m", "tests.support.neo4j_container", str(folder))
    subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def give_up(folder: Path, neo4j: Neo4j) -> NoReturn:
    """Fail, if that is a failure and no test of this run has failed of it yet; else skip."""
    said = f"NO REAL NEO4J WAS TESTED: {neo4j.reason}"
    if neo4j.failure:
        with contextlib.suppress(FileExistsError):
            (folder / "neo4j.failed").touch(exist_ok=False)
            pytest.fail(said, pytrace=False)
    pytest.skip(said)


def remove_container(folder: Path) -> None:
    """End the run's container, if there is one; one that is still being started is waited for."""
    if (folder / "neo4j.lock").exists():
        with _locked(folder), contextlib.suppress(FileNotFoundError):
            subprocess.run(["docker", "rm", "--force", "--volumes", _name(folder)], check=False, capture_output=True)


def docker_missing() -> str:
    """Why no container of a real Neo4j can be run here; empty when one can."""
    try:
        subprocess.run(["docker", "version"], check=True, capture_output=True, timeout=20)
        subprocess.run(["docker", "image", "inspect", IMAGE], check=True, capture_output=True, timeout=20)
    except FileNotFoundError:
        return "there is no docker command."
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return f"`{' '.join(error.cmd)}` fails (is the engine running, and the image {IMAGE} pulled?)."
    return ""


def _find(folder: Path, environ: Mapping[str, str]) -> Neo4j:
    if environ.get("NEO4J_URI"):
        return _answering({name: value for name, value in environ.items() if name.startswith("NEO4J_")})
    missing = docker_missing()
    if missing:
        required = environ.get("REQUIRE_NEO4J") == "1"
        return Neo4j(reason=f"NEO4J_URI is not set and {missing}", failure=required)
    try:
        return _answering(_start_container(_name(folder)))
    except Exception as error:  # whatever testcontainers, Docker or the server raise: it did not come up
        return Neo4j(reason=f"the container of {IMAGE} did not come up: {error!r}", failure=True)


def _answering(environ: Mapping[str, str]) -> Neo4j:
    try:
        neo4j_server(environ, wait_s=ANSWER_S)
    except OrchestrateError as error:
        return Neo4j(reason=str(error), failure=True)
    return Neo4j(environ=dict(environ))


def _start_container(name: str) -> dict[str, str]:
    from testcontainers.community.neo4j import Neo4jContainer

    container: Any = Neo4jContainer(IMAGE, username="neo4j", password=secrets.token_hex(12))
    container.with_name(name)
    container.with_env("NEO4J_server_memory_heap_max__size", "512m")
    container.with_env("NEO4J_dbms_cypher_min__replan__interval", "1h")  # whatever tests do to its statistics
    # Too short a life to optimise for; but room for what is compiled, else it is thrown away and compiled again.
    container.with_env("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=200m")
    container.start()  # waits for its log to say that it is ready, two minutes at most
    return {
        "NEO4J_URI": container.get_connection_url(),
        "NEO4J_USERNAME": container.username,
        "NEO4J_PASSWORD": container.password,
    }


def _name(folder: Path) -> str:
    """The same for all processes of a run, and its own among runs that share a Docker engine."""
    return f"orchestrate-test-{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "neo4j.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    ask_for_neo4j(Path(sys.argv[1]))
