"""Memory that a command takes in places where no process's count has it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.workspace.sandbox.room import LEAST_DISK, LEAST_MEMORY, Room, hideable, shortage
from tests.security.conftest import Opened

IMPORTS = "import mmap, os, socket, time\n"
_FILE = "file = os.memfd_create('x')\nfor _ in range(50): os.write(file, b'x' * 10**7)\n"
HIDDEN = {
    "a memory file": _FILE,
    "a memory file on its way through a socket": _FILE
    + "ends = socket.socketpair(); socket.send_fds(ends[0], [b'x'], [file]); os.close(file)\n",
    "shared pages that were let go": """
held = mmap.mmap(-1, 5 * 10**8)
for at in range(0, 5 * 10**8, 10**7):
    held[at:at + 10**7] = b'x' * 10**7
    held.madvise(mmap.MADV_DONTNEED)
""",
}


@pytest.mark.parametrize("how", HIDDEN)
def test_memory_that_no_process_counts_ends_the_command(opened: Opened, how: str) -> None:
    """Memory files and shared pages above the limit end the command as what its processes hold does."""
    workspace = opened()[1]
    workspace.write("hide.py", f"{IMPORTS}{HIDDEN[how]}\ntime.sleep(60)\n".encode())
    done = workspace.run("/usr/bin/python3 hide.py")
    assert (done.ended, done.exit_code) == ("memory", None), done.output
    assert "of shared memory, limit 300" in done.detail


def test_a_command_leaves_room_to_the_machine() -> None:
    """It ends before memory or disk are used up, whoever used them; a machine that had little keeps half of that; one
    that tells nothing is not judged; growth that its processes cannot have made is not theirs."""
    rich = Room(available=8 * LEAST_MEMORY, shared=10**9, disk=8 * LEAST_DISK)

    def judged(before: Room, **now: int) -> str:
        found = shortage(before, replace(before, **now), 300_000_000, lambda: ())
        return found[0] if found else ""

    assert judged(rich) == ""
    assert judged(rich, available=LEAST_MEMORY - 1) == "memory"
    assert judged(rich, disk=LEAST_DISK - 1) == "output"
    poor = Room(available=LEAST_MEMORY // 2, shared=0, disk=LEAST_DISK // 2)
    assert judged(poor) == judged(poor, disk=LEAST_DISK // 3) == ""
    assert judged(poor, disk=LEAST_DISK // 5) == "output"
    assert judged(Room(available=0, shared=0, disk=0)) == ""
    assert judged(rich, shared=9 * 10**9) == ""
    assert hideable([2**22 + 1]) == 0
