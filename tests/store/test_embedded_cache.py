"""The embedded server's start cache: made when nobody waits, used by the next start, and never in a start's way."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.store.embedded.cache import cache_file, cache_flags, cache_folder
from orchestrator.store.embedded.launch import find_wheel
from orchestrator.store.embedded.server import HEAP_MB, embedded_status, embedded_stop
from orchestrator.store.embedded.training import UNUSED_S, remove_unused, train, training
from orchestrator.store.graph_store import open_graph
from tests.support.processes import eventually


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """An ORCHESTRATE_HOME whose server is stopped afterwards."""
    yield tmp_path / "home"
    embedded_stop(tmp_path / "home")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A file that may be taken for a cache."""
    file = tmp_path / "caches" / "server-1-a.aot"
    file.parent.mkdir(mode=0o700)
    file.touch(mode=0o600)
    return file


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/orchestrate"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/orchestrate"),
        ({"HOME": "/h"}, "/h/.cache/orchestrate"),
        ({}, None),
    ],
)
def test_caches_stand_in_the_users_own_folder(environ: dict[str, str], folder: str | None) -> None:
    """XDG_CACHE_HOME where it is absolute, else HOME; without either there is none."""
    assert cache_folder(environ) == (Path(folder) if folder else None)


def test_a_cache_is_of_one_wheel_and_one_heap_size(tmp_path: Path) -> None:
    """Another version, other jars or another heap have a cache of their own; ports and homes do not count."""
    (tmp_path / "jars").mkdir()
    for name in ("java", "jars/a.jar"):
        (tmp_path / name).write_text("x")
    wheel = replace(find_wheel(), java=tmp_path / "java", jars=tmp_path / "jars", version="1")
    names = {cache_file(tmp_path, wheel, 512), cache_file(tmp_path, wheel, 256)}
    names.add(cache_file(tmp_path, replace(wheel, version="2"), 512))
    assert cache_file(tmp_path, wheel, 512) in names
    os.utime(tmp_path / "jars/a.jar", (1, 1))
    names.add(cache_file(tmp_path, wheel, 512))
    assert len(names) == 4


@pytest.mark.parametrize(("file", "mode"), [(".", 0o770), (".", 0o707), ("server-1-a.aot", 0o666)])
def test_a_cache_that_others_can_write_is_not_used(cache: Path, file: str, mode: int) -> None:
    """It decides what the server runs: neither the file nor its folder may be open to others."""
    assert f"-XX:AOTCache={cache}" in cache_flags(cache)
    (cache.parent / file).chmod(mode)
    assert cache_flags(cache) == []


def test_a_cache_that_is_a_link_or_not_there_is_not_used(cache: Path) -> None:
    """What a link leads to may be anybody's."""
    cache.rename(cache.with_name("other"))
    assert cache_flags(cache) == cache_flags(None) == []
    cache.symlink_to("other")
    assert cache_flags(cache) == []


def test_training_leaves_a_folder_of_others_alone(cache: Path) -> None:
    """No cache is made where somebody else could change it."""
    cache.unlink()
    cache.parent.chmod(0o777)
    train(cache, HEAP_MB)
    assert list(cache.parent.iterdir()) == []


def test_caches_that_nothing_uses_go(cache: Path) -> None:
    """After a month without a start; a younger one stays."""
    old = cache.with_name("server-0-b.aot")
    old.touch()
    os.utime(old, (time.time() - UNUSED_S - 60,) * 2)
    remove_unused(cache.parent)
    assert list(cache.parent.iterdir()) == [cache]


def command_line(pid: int | None) -> str:
    """How the process was started."""
    return subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True).stdout


def test_an_idle_stop_makes_the_cache_and_starts_use_it_until_it_is_damaged(home: Path, tmp_path: Path) -> None:
    """The first start has none; it is there some seconds after the server went, private, and the next start takes it
    without a word. Damaged, it is not used and goes, and the server starts all the same."""
    environ = {"XDG_CACHE_HOME": str(tmp_path / "caches")}
    made = cache_file(tmp_path / "caches/orchestrate", find_wheel(), HEAP_MB)
    open_graph(home, environ, wait_s=60, idle_s=0.5).close()
    assert eventually(made.exists, seconds=120)
    assert eventually(lambda: not (made.parent / "training").exists())
    assert made.stat().st_mode & 0o777 == 0o600 and training(made, HEAP_MB) == []

    with open_graph(home, environ, wait_s=60):
        assert f"-XX:AOTCache={made} " in command_line(embedded_status(home).pid)
        assert "[aot]" not in (home / "graph/server.log").read_text()
    embedded_stop(home)

    content = bytearray(made.read_bytes())
    content[len(content) // 2] ^= 0xFF
    made.write_bytes(content)
    with open_graph(home, environ, wait_s=60) as graph:
        assert graph.query("RETURN 1").rows == [[1]]
    assert not made.exists()
