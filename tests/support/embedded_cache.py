"""The JVM's start cache that all embedded servers of all test runs in this checkout share: made once, in the background
of the first run, in a process of its own.

The product deletes a cache with which a start failed, and some tests have a start fail. So what was made is kept in a
folder that no server knows, and offered anew before each test.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from orchestrator.domain.errors import GraphError
from orchestrator.store.embedded.cache import cache_file, cache_folder
from orchestrator.store.embedded.launch import find_wheel
from orchestrator.store.embedded.server import HEAP_MB
from orchestrator.store.embedded.training import remove_unused, train

ROOT = Path(__file__).parents[2]
SERVERS = ROOT / ".pytest_cache" / "servers"
KEPT = SERVERS / "kept"
EMBEDDED = {"XDG_CACHE_HOME": str(SERVERS)}
"""The environment of an embedded server under test: no NEO4J_URI, and the shared cache."""


def share_cache() -> None:
    """Have every process of this test run use the cache, and see to it that it is made. Where nobody can make one (no
    wheel, no room), the servers start without."""
    os.environ.update(EMBEDDED)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        command = (sys.executable, "-m", __name__)
        nothing = subprocess.DEVNULL
        subprocess.Popen(command, cwd=ROOT, stdin=nothing, stdout=nothing, stderr=nothing)


def offer_cache() -> None:
    """Give back what a test has cost the next one: a second name of the kept file, where the servers look for it."""
    with contextlib.suppress(OSError, GraphError):  # it is there, not made yet, or there is no wheel
        os.link(*_names())


@cache
def _names() -> tuple[Path, Path]:
    """The kept file, and the one that the servers use. Raises GraphError where there is no wheel."""
    folder = cache_folder(EMBEDDED) or SERVERS
    used = cache_file(folder, find_wheel(), HEAP_MB)
    return KEPT / used.name, used


if __name__ == "__main__":
    kept, used = _names()
    used.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    remove_unused(used.parent)
    train(kept, HEAP_MB)
