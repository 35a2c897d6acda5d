"""The embedded server's life."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator.domain.errors import GraphError
from orchestrator.store.embedded import launch
from orchestrator.store.embedded.server import Embedded, embedded_status, embedded_stop
from orchestrator.store.graph_store import open_graph
from tests.support.embedded_cache import EMBEDDED
from tests.support.processes import alive, eventually
from tests.support.samples import attempt_owner, claimed, complete, new_plan, opened, reply, turn

ROOT = Path(__file__).resolve().parents[2]


def running(home: Path) -> bool:
    """Whether the home's server runs."""
    return embedded_status(home).running


def test_it_starts_on_demand_and_stops_at_once(new_home: Path) -> None:
    """The first connection starts it, `graph down` stops it, and what was written is there at the next start."""
    assert not running(new_home) and embedded_stop(new_home) is False
    with open_graph(new_home, EMBEDDED, wait_s=30) as graph:
        plan = new_plan(2)
        graph.store_plan(plan)
        status = embedded_status(new_home)
        assert (status.running, status.uri) == (True, graph.server.uri)
        assert "ArcadeDB" in graph.server.version
    assert running(new_home)
    assert embedded_stop(new_home) is True
    assert not running(new_home) and not alive(status.pid) and not alive(status.supervisor)
    with open_graph(new_home, EMBEDDED, wait_s=30) as graph:
        assert graph.plan(plan.id) == plan


def test_its_secrets_and_ports_are_private(home: Path) -> None:
    """Passwords are random, in 0600 files, in no command line; everything listens on loopback only."""
    with open_graph(home, EMBEDDED, wait_s=30):
        folder = home / "graph"
        passwords = [folder / "root-password", folder / "reader-password"]
        assert [stat.S_IMODE(path.stat().st_mode) for path in passwords] == [0o600, 0o600]
        listing = subprocess.run(["ps", "-eww", "-o", "command="], capture_output=True, text=True, check=True).stdout
        assert all(path.read_text() not in listing for path in passwords)
        status = embedded_status(home)
        assert status.uri is not None and "127.0.0.1" in status.uri and "127.0.0.1" in (status.http or "")
        with pytest.raises(OSError), socket.create_connection((_own_address(), int(status.uri.rpartition(":")[2])), 2):
            pass


def _own_address() -> str:
    """An address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return "192.0.2.1"
        return str(probe.getsockname()[0])


OPENER = """
import os, sys, pathlib
from orchestrator.store.graph_store import open_graph
from orchestrator.store.embedded.server import embedded_status
home = pathlib.Path(sys.argv[1])
with open_graph(home, {"XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}, wait_s=30) as graph:
    graph.query("RETURN 1")
    print(embedded_status(home).pid)
"""


def opener(home: Path) -> subprocess.Popen[str]:
    """A process that opens the graph and prints the server's pid."""
    return subprocess.Popen([sys.executable, "-c", OPENER, str(home)], stdout=subprocess.PIPE, text=True, cwd=ROOT)


def test_three_processes_at_once_start_one_server(home: Path) -> None:
    """Starting is under a lock: all meet the same server, whose schema is made once."""
    embedded_stop(home)
    processes = [opener(home) for _ in range(3)]
    pids = {process.communicate(timeout=120)[0].strip() for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert pids == {str(embedded_status(home).pid)}


def test_it_survives_the_end_of_its_clients(home: Path) -> None:
    """It lives in a session of its own: neither the client's end nor a Ctrl-C in its terminal reaches it."""
    embedded_stop(home)
    process = opener(home)
    process.communicate(timeout=120)
    status = embedded_status(home)
    assert status.running and status.pid is not None and status.supervisor is not None
    assert os.getsid(status.pid) == os.getsid(status.supervisor) != os.getsid(0)
    os.kill(status.supervisor, signal.SIGINT)
    time.sleep(0.3)
    assert embedded_status(home) == status


def test_it_stops_by_itself_when_idle_and_not_before(new_home: Path) -> None:
    """No client for the idle time: it stops and leaves no state. A client that does nothing is still a client."""
    graph = open_graph(new_home, EMBEDDED, wait_s=30, idle_s=1)
    pid = embedded_status(new_home).pid
    time.sleep(2.5)
    assert running(new_home)
    graph.close()
    assert eventually(lambda: not running(new_home) and not alive(pid))
    assert not (new_home / "graph/server.json").exists()


def test_nothing_acknowledged_is_lost_by_sigkill(home: Path) -> None:
    """The log is synced with every commit: after SIGKILL the next operation starts a new server and finds it all."""
    with open_graph(home, EMBEDDED, wait_s=60) as graph:
        _, run = opened(graph, 1)
        claim = claimed(graph, run)
        written = []
        for seq in range(1, 40):
            graph.record(attempt_owner(claim), [turn(seq), reply(seq)])
            written += [turn(seq), reply(seq)]
        killed = embedded_status(home).pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        assert list(graph.events(claim.attempt_id)) == written
        assert embedded_status(home).pid != killed
        complete(graph, claim)


def test_a_dead_supervisor_is_replaced(home: Path) -> None:
    """A server without its supervisor would never stop by itself: the next client starts both anew."""
    with open_graph(home, EMBEDDED, wait_s=30) as graph:
        plan = new_plan(1)
        graph.store_plan(plan)
    orphaned = embedded_status(home)
    assert orphaned.supervisor is not None and orphaned.pid is not None
    os.kill(orphaned.supervisor, signal.SIGKILL)
    assert eventually(lambda: not running(home))
    with open_graph(home, EMBEDDED, wait_s=30) as graph:
        assert graph.plan(plan.id) == plan
        assert not alive(orphaned.pid)
        assert embedded_status(home).supervisor != orphaned.supervisor


def test_a_deleted_home_takes_its_server_along(home: Path) -> None:
    """`rm -rf` of the repository leaves no JVM behind."""
    open_graph(home, EMBEDDED, wait_s=30).close()
    status = embedded_status(home)
    shutil.rmtree(home)
    assert eventually(lambda: not alive(status.pid) and not alive(status.supervisor))


def test_stale_or_broken_state_heals(home: Path) -> None:
    """A state file of a server long gone, whose pid is now somebody else's and whose port is taken, or half a file:
    none of them stops a start, and the stranger lives on."""
    embedded_stop(home)
    folder = home / "graph"
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as stranger:
        port = stranger.getsockname()[1]
        state = {"pid": os.getpid(), "supervisor": os.getpid(), "bolt_port": port, "http_port": port, "version": "1"}
        for text in ('{"pid": 1', "[]", json.dumps(state)):
            (folder / "server.json").write_text(text)
            assert not running(home)
        with open_graph(home, EMBEDDED, wait_s=30) as graph:
            assert not graph.server.uri.endswith(f":{port}")


def test_a_port_taken_in_between_is_exchanged(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else may take the free port before the server does: the start is repeated with another one."""
    embedded_stop(home)
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as stranger:
        taken = [stranger.getsockname()[1]]
        real = launch.free_port
        monkeypatch.setattr("orchestrator.store.embedded.server.free_port", lambda: taken.pop() if taken else real())
        with open_graph(home, EMBEDDED, wait_s=30) as graph:
            assert graph.query("RETURN 1").rows == [[1]]
    assert not taken


def test_without_the_wheel_both_ways_out_are_named(new_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No extra and no NEO4J_URI: exit code 4 with what to install and what to set."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(GraphError) as caught:
        open_graph(new_home, EMBEDDED, wait_s=1)
    assert "orchestrate[embedded]" in str(caught.value) and "NEO4J_URI" in str(caught.value)
    assert caught.value.exit_code == 4


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file where the folder should be, like a read-only home, is one clear error."""
    (tmp_path / "home").write_text("not a folder")
    with pytest.raises(GraphError, match="ORCHESTRATE_HOME"):
        Embedded(tmp_path / "home").locate()
