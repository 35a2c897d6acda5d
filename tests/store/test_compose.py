"""docker-compose.yml brings up a Neo4j that we can use."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from orchestrator.domain.errors import GraphError
from orchestrator.store.embedded.launch import free_port
from orchestrator.store.graph_store import GraphStore, open_graph
from tests.support.neo4j_container import docker_missing
from tests.support.samples import new_plan

FILE = Path(__file__).resolve().parents[2] / "docker-compose.yml"
QUICKLY = 'services: {neo4j: {environment: {JAVA_TOOL_OPTIONS: "-XX:TieredStopAtLevel=1"}}}\n'
"""Beside the file as it is: too short a life to optimise for."""


def compose() -> list[str]:
    """The compose command that this machine has; skips aloud where there is none."""
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0
    if plugin:
        return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    pytest.skip("docker-compose.yml WAS NOT TESTED: neither `docker compose` nor docker-compose is installed")


def test_the_compose_file_brings_up_a_healthy_neo4j(tmp_path: Path) -> None:
    """Healthy by its own check, on loopback, with the password from the environment, and usable as NEO4J_URI."""
    reason = docker_missing()
    if reason:
        pytest.skip(f"docker-compose.yml WAS NOT TESTED: {reason}")
    password, bolt, http = secrets.token_hex(12), free_port(), free_port()
    environ = {"NEO4J_PASSWORD": password, "NEO4J_BOLT_PORT": str(bolt), "NEO4J_HTTP_PORT": str(http)}
    quickly = tmp_path / "quickly.yml"
    quickly.write_text(QUICKLY)
    files = ["--file", str(FILE), "--file", str(quickly)]
    base = [*compose(), "--project-name", f"orchestrate-test-{secrets.token_hex(4)}", *files]

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [*base, *arguments], env={**os.environ, **environ}, capture_output=True, text=True, check=True, timeout=240
        )
        return done.stdout.strip()

    try:
        run("up", "--detach")
        container = run("ps", "--quiet")
        assert _health(container) == "healthy"
        ports = subprocess.run(["docker", "port", container], capture_output=True, text=True, check=True).stdout
        assert all("127.0.0.1:" in line for line in ports.splitlines())
        plan = new_plan(1)
        neo4j = {"NEO4J_URI": f"bolt://127.0.0.1:{bolt}", "NEO4J_USERNAME": "neo4j", "NEO4J_PASSWORD": password}
        with _opened(tmp_path, neo4j) as graph:
            graph.store_plan(plan)
            assert graph.plan(plan.id) == plan
    finally:
        run("down", "--volumes", "--timeout", "5")


def _opened(home: Path, environ: dict[str, str]) -> GraphStore:
    """The graph; an image may set its password just after it listens."""
    for _ in range(60):
        with contextlib.suppress(GraphError):
            return open_graph(home, environ, wait_s=30)
        time.sleep(1.5)
    return open_graph(home, environ, wait_s=30)


def _health(container: str) -> str:
    command = ["docker", "inspect", "--format", "{{.State.Health.Status}}", container]
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        if found != "starting":
            return found
        time.sleep(1)
    return "starting"


def test_the_password_must_be_given(tmp_path: Path) -> None:
    """Without NEO4J_PASSWORD nothing starts, and the message says how to make one."""
    command = [*compose(), "--file", str(FILE), "config"]
    environ = {name: value for name, value in os.environ.items() if name != "NEO4J_PASSWORD"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode != 0
    assert "openssl rand -hex 16" in done.stderr
