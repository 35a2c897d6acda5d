"""The JVM's start cache that all embedded servers of all test runs in this checkout share: made once, in the background
of the first run, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from orchestrator.store.embedded.cache import cache_file, cache_folder
from orchestrator.store.embedded.launch import find_wheel
from orchestrator.store.embedded.server import HEAP_MB
from orchestrator.store.embedded.training import train

ROOT = Path(__file__).parents[2]
EMBEDDED = {"XDG_CACHE_HOME": str(ROOT / ".pytest_cache" / "servers")}
"""The environment of an embedded server under test: no NEO4J_URI, and the shared cache."""


def share_cache() -> None:
    """Have every process of this test run use the cache, and see to it that it is made. Where nobody can make one (no
    wheel, no room), the servers start without."""
    os.environ.update(EMBEDDED)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        command = (sys.executable, "-m", __name__)
        nothing = subprocess.DEVNULL
        subprocess.Popen(command, cwd=ROOT, stdin=nothing, stdout=nothing, stderr=nothing)


if __name__ == "__main__":
    if folder := cache_folder(EMBEDDED):
        train(cache_file(folder, find_wheel(), HEAP_MB), HEAP_MB)
