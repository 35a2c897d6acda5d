"""What all tests share: the graph servers, one Hypothesis profile, and the order in which the slow files go first."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer

from tests.support.by_file import ByFile
from tests.support.embedded_cache import offer_cache, share_cache
from tests.support.graph_servers import (
    any_graph,
    embedded_graph,
    embedded_home,
    empty_graph,
    graph_server,
    real_neo4j,
    wants_neo4j,
)
from tests.support.neo4j_container import ask_in_background, remove_container, run_folder

__all__ = ["any_graph", "embedded_graph", "embedded_home", "empty_graph", "graph_server", "real_neo4j"]

MEASURED = ("domain", "gates", "guards", "engine")
"""The rooms of orchestrator whose coverage is demanded."""

WALKS = {
    "test_walk.py",
    "test_planning.py",
    "test_budgets.py",
    "test_acting.py",
    "test_deadlines.py",
    "test_reasons.py",
}
"""The stories that count as covering them, beside the tests of the rooms themselves: what a test of another room
happens to call says little, and the other stories, which tracing makes longer, would add a hundredth."""

TESTS = Path(__file__).parent
SLOWEST_FIRST = ("stories", "store", "cli", "test_readme.py", "workspace", "replay", "reports", "agents")
"""Rooms, so ordered that no long test is left for the end, when the other test processes have nothing to do."""

# A busy machine is no defect: what an example and its making may take is bounded by pytest-timeout alone. Half of
# Hypothesis's number of examples a run: they differ from run to run, and a property is broken by few of its first or
# by rare ones.
settings.register_profile(
    "orchestrate", deadline=None, print_blob=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("orchestrate")


def pytest_configure(config: pytest.Config) -> None:
    """What makes the processes that tests start quick, before anything is collected: modules compiled once, whatever
    the environment says of them; this Python as `python3`, not a version manager's script that looks for it; and the
    start cache of the embedded servers."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False  # said to this process before; rewriting the tests takes half of finding them
    own = Path(sys.executable).resolve().parent
    os.environ["PATH"] = f"{own}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    if not config.option.collectonly:
        share_cache()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two processes more than cores (`-n auto`): tests wait for servers, signals and timeouts."""
    return (os.cpu_count() or 1) + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """Who runs which test when there are several processes."""
    config.option.loadscopereorder = False  # the order is ours
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slowest rooms first."""
    items.sort(key=lambda item: _place(_room(item)))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What finds the tests is not traced, which would take most of the time; what the import of a measured module runs
    is, in one process."""
    if "PYTEST_XDIST_WORKER" not in os.environ and _measuring(session.config):
        _import_measured()
    with _untraced(session.config):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """What does not count as covering is not traced, nor what is set up for it (as pytest-cov's own mark would be)."""
    if _covers(item):
        return (yield)
    with _untraced(item.config):
        return (yield)


def _measuring(config: pytest.Config) -> Any:
    """What measures the coverage, if anything does."""
    return getattr(config.pluginmanager.getplugin("_cov"), "cov_controller", None)


@contextmanager
def _untraced(config: pytest.Config) -> Iterator[None]:
    controller = _measuring(config)
    if controller is None:
        yield
        return
    controller.pause()
    try:
        yield
    finally:
        controller.resume()


def _import_measured() -> None:
    for room in MEASURED:
        package = importlib.import_module(f"orchestrator.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def _covers(item: pytest.Item) -> bool:
    """A property test does not: of hundreds of examples, each would be traced."""
    property_test = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    walk = _room(item) == "stories" and item.path.name in WALKS
    return (_room(item) in MEASURED or walk) and not property_test


def _room(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


def _place(room: str) -> int:
    return SLOWEST_FIRST.index(room) if room in SLOWEST_FIRST else len(SLOWEST_FIRST)


def pytest_runtest_setup() -> None:
    """An embedded server that a test starts finds the start cache, whatever the test before did to it."""
    offer_cache()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the real Neo4j as soon as it is known that a test will want it; and have Python look no more through the
    thousands of objects that stay to the end."""
    if not session.config.option.collectonly and any(map(wants_neo4j, session.items)):
        ask_in_background(run_folder(session.config))
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """The run is over, in all its processes: nobody needs the container any more."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        remove_container(run_folder(session.config))
