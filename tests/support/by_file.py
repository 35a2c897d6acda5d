"""How a test run is divided among processes: by file, in the order that conftest.py gave them.

Not by `--dist loadgroup`: pytest 9.2 does not let pytest-xdist 3.8 write groups into the names of tests, so that each
test went to whoever was free, and each process set up anew what is set up once for a module.
"""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

TOGETHER = {"tests/cli/test_processes.py": "tests/cli/test_demo.py"}
"""Files that look at what another one has set up as well: the demo's one run."""


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # its package has no types
    """A process takes a file at a time, so that what a module sets up is set up once."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return TOGETHER.get(file, file)
