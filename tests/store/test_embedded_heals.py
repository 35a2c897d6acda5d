"""The embedded server heals by itself what was damaged, lost or stopped around it, and says what it waits for."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.store.embedded import answer, launch, state, supervisor
from orchestrator.store.embedded.cache import cache_folder
from orchestrator.store.embedded.server import Embedded, embedded_status, embedded_stop
from orchestrator.store.graph_store import open_graph
from tests.support.embedded_cache import EMBEDDED
from tests.support.processes import alive, eventually
from tests.support.samples import new_plan


def broken(path: Path) -> None:
    """Half a document."""
    path.write_text("{broken")


def wrong_port(path: Path) -> None:
    """A port where nobody listens."""
    path.write_text(json.dumps(json.loads(path.read_text()) | {"bolt_port": 1}))


def nobodys(path: Path) -> None:
    """A stranger's pid, as after the number was given away again."""
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pid": os.getpid()}))


@pytest.mark.parametrize("damage", [broken, wrong_port, nobodys, Path.unlink])
def test_a_damaged_state_beside_a_living_server_is_repaired(home: Path, damage: Callable[[Path], None]) -> None:
    """The supervisor writes its files again: the next client meets the same server, without a restart."""
    open_graph(home, EMBEDDED, wait_s=30).close()
    before = embedded_status(home)
    damage(home / "graph/server.json")
    with open_graph(home, EMBEDDED, wait_s=30) as graph:
        assert graph.query("RETURN 1").rows == [[1]]
    assert eventually(lambda: embedded_status(home) == before)


@pytest.mark.parametrize("files", [["server.json"], ["server.json", "supervisor.lock"]])
def test_graph_down_finds_a_server_whose_files_are_damaged(home: Path, files: list[str]) -> None:
    """`graph status` and `graph down` see the server that lives, not the file that says nothing."""
    open_graph(home, EMBEDDED, wait_s=30).close()
    status = embedded_status(home)
    for name in files:
        broken(home / "graph" / name)
    assert embedded_status(home).running
    for name in files:
        broken(home / "graph" / name)
    assert embedded_stop(home) is True
    assert not alive(status.pid) and not alive(status.supervisor)
    assert not embedded_status(home).running


def test_a_deleted_lock_leaves_one_server(home: Path) -> None:
    """A supervisor whose lock is no more the one in the folder cannot be found: it goes, and a new one comes."""
    open_graph(home, EMBEDDED, wait_s=30).close()
    status = embedded_status(home)
    (home / "graph/supervisor.lock").unlink()
    with open_graph(home, EMBEDDED, wait_s=30) as graph:
        assert graph.query("RETURN 1").rows == [[1]]
    assert eventually(lambda: not alive(status.pid) and not alive(status.supervisor))
    assert embedded_status(home).running


@pytest.mark.parametrize(
    ("name", "content", "stopped"),
    [
        ("root-password", None, True),
        ("root-password", None, False),
        ("root-password", "another-password", False),
        ("reader-password", "short", True),
        ("reader-password", "", False),
    ],
)
def test_a_lost_password_is_replaced_and_the_records_stay(
    home: Path, name: str, content: str | None, stopped: bool
) -> None:
    """The password files are right whatever became of them: the server's users are made anew, the data survives."""
    plan = new_plan(1)
    with open_graph(home, EMBEDDED, wait_s=30) as graph:
        graph.store_plan(plan)
    if stopped:
        embedded_stop(home)
    path = home / "graph" / name
    path.unlink() if content is None else path.write_text(content)
    with open_graph(home, EMBEDDED, wait_s=30) as graph:
        assert graph.plan(plan.id) == plan
        assert graph.query("RETURN 1").rows == [[1]]
    assert path.stat().st_mode & 0o077 == 0 or content == "another-password"


def test_a_living_server_is_told_its_reader_again(home: Path) -> None:
    """Whatever a killed start has left of the second user (another password than the file's, a file of users that is
    gone or lists one whom the server does not know): the user is made anew, and the server goes on."""
    open_graph(home, EMBEDDED, wait_s=30).close()
    folder, before = home / "graph", embedded_status(home)
    (folder / "reader-password").write_text("another-password")
    _reads(home)
    (folder / supervisor.USERS).unlink()
    _reads(home)
    listed = (folder / supervisor.USERS).read_text()
    found = state.read_state(folder)
    assert found is not None and answer.tell_server(folder, found, f"drop user {launch.READER}")
    (folder / supervisor.USERS).write_text(listed)
    _reads(home)
    assert embedded_status(home) == before


def _reads(home: Path) -> None:
    with open_graph(home, EMBEDDED, wait_s=30) as graph:
        assert graph.query("RETURN 1").rows == [[1]]


def test_what_a_server_says_while_it_ends_is_an_outage(home: Path) -> None:
    """A server whose supervisor was killed ends: it forgets its users and its connections' states before it stops to
    answer. Clients at work wait for the next one, as they do for one that is silent; none hears of a refusal."""
    with open_graph(home, EMBEDDED, wait_s=60) as graph:
        plan = new_plan(1)
        graph.store_plan(plan)
        ended = embedded_status(home)
        assert ended.supervisor is not None

        def work() -> bool:
            while embedded_status(home).pid in (ended.pid, None):
                assert graph.plan(plan.id) == plan
            return graph.plan(plan.id) == plan and graph.query("RETURN 1").rows == [[1]]

        with ThreadPoolExecutor(4) as pool:
            busy = [pool.submit(work) for _ in range(4)]
            os.kill(ended.supervisor, signal.SIGKILL)
            assert all(each.result() for each in busy)


def test_a_server_that_nobody_wrote_down_is_ended(tmp_path: Path) -> None:
    """Its supervisor was killed before it could tell the pid: it is known by its command line."""
    (tmp_path / "server").mkdir()
    asleep = [sys.executable, "-c", "import time; time.sleep(600)", f"-Darcadedb.server.rootPath={tmp_path / 'server'}"]
    with subprocess.Popen([*asleep, "-cp"]) as stray, subprocess.Popen([*asleep[:-1], "-cp"]) as stranger:
        assert state.stop_server(tmp_path) is True
        assert stray.wait(30) == -signal.SIGKILL
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent died")
def test_a_server_whose_supervisor_died_before_it_began_does_not_begin() -> None:
    """The kernel tells of the parent's end only if it was asked before."""
    begun = subprocess.run(["true"], preexec_fn=lambda: supervisor.die_with_parent(0), check=False)
    assert begun.returncode == 1


def test_what_a_killed_start_left_half_written_is_written_again(tmp_path: Path) -> None:
    """The groups' rights are no file that a start may believe because it is there."""
    launch.prepare_folder(tmp_path)
    groups = tmp_path / "server/config/server-groups.json"
    whole = groups.read_text()
    groups.write_text(whole[:40])
    (tmp_path / supervisor.USERS).write_text("those of a server that runs")
    launch.prepare_folder(tmp_path)
    assert groups.read_text() == whole
    assert (tmp_path / supervisor.USERS).read_text() == "those of a server that runs"


def test_a_reader_that_was_never_made_is_made_by_the_next_client(home: Path) -> None:
    """Whoever started the server may have been killed before the second user was there."""
    server = Embedded(home, caches=cache_folder(EMBEDDED))
    folder = home / "graph"
    server.locate()
    users = folder / "server/config/server-users.jsonl"
    known = users.read_text().splitlines(keepends=True)
    assert len(known) == 2
    embedded_stop(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orchestrator.store.embedded.server.ensure_reader", lambda _folder, closely: True)
        server.locate()
    server.release()
    with open_graph(home, EMBEDDED, wait_s=30) as graph:
        assert graph.query("RETURN 1").rows == [[1]]


def test_a_server_that_is_deaf_is_replaced_and_the_wait_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped JVM takes connections and answers none: it gets some seconds, aloud, and not those of a start."""
    monkeypatch.setattr(answer, "SILENT_S", 6.0)
    monkeypatch.setattr(answer, "QUIET_S", 0.5)
    open_graph(home, EMBEDDED, wait_s=30).close()
    deaf = embedded_status(home).pid
    assert deaf is not None
    os.kill(deaf, signal.SIGSTOP)
    told: list[str] = []
    with open_graph(home, EMBEDDED, wait_s=30, on_wait=told.append) as graph:
        assert graph.query("RETURN 1").rows == [[1]]
    assert not alive(deaf)
    assert any("does not answer; waiting up to" in message for message in told)


def test_waiting_for_another_process_is_told(new_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that another process holds up is no silence."""
    monkeypatch.setattr(state, "QUIET_S", 0.1)
    new_home.mkdir()
    told: list[str] = []
    heard = threading.Event()
    with state.exclusive(new_home / "start.lock", told.append):
        waiting = threading.Thread(target=_enter, args=(new_home / "start.lock", told, heard))
        waiting.start()
        assert heard.wait(30)
    waiting.join(30)
    assert len(told) == 1 and "Another process is starting" in told[0]


def _enter(path: Path, told: list[str], heard: threading.Event) -> None:
    def hear(message: str) -> None:
        told.append(message)
        heard.set()

    with state.exclusive(path, hear):
        pass


def test_a_home_made_anew_has_a_server_of_its_own(home: Path) -> None:
    """A repository deleted and cloned again at its place: the old server ends by itself, holds no port, and leaves the
    new one and its state alone. A client that was there all the time holds on to the new one."""
    with open_graph(home, EMBEDDED, wait_s=30, idle_s=2) as graph:
        old = embedded_status(home)
        shutil.rmtree(home)
        with open_graph(home, EMBEDDED, wait_s=30, idle_s=2):
            new = embedded_status(home)
            assert new.running and new.supervisor != old.supervisor
            assert eventually(lambda: not alive(old.pid) and not alive(old.supervisor))
            assert graph.query("RETURN 1").rows == [[1]]
        assert not eventually(lambda: not embedded_status(home).running, seconds=5)
        assert embedded_status(home) == new


def test_an_empty_folder_at_its_place_ends_the_server(home: Path) -> None:
    """Files of the same names are not the same files."""
    open_graph(home, EMBEDDED, wait_s=30).close()
    old = embedded_status(home)
    shutil.rmtree(home)
    (home / "graph").mkdir(parents=True)
    for name in ("clients.lock", "supervisor.lock", "server.json"):
        (home / "graph" / name).write_text("")
    assert eventually(lambda: not alive(old.pid) and not alive(old.supervisor))
    assert (home / "graph/server.json").read_text() == ""
