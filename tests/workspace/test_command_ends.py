"""How each command in the sandbox is ended: by time, silence, output, memory, number of processes; and what is left of
it: nothing. Run for each level that is there."""

from __future__ import annotations

import os
import sys

import pytest

from orchestrator.workspace.sandbox import process_tree
from orchestrator.workspace.sandbox.spec import CommandLimits
from orchestrator.workspace.worktree import Worktree
from tests.support.commands import alive, limited

PYTHON = sys.executable


def test_background_children_are_gone_afterwards(confined: Worktree) -> None:
    """Neither disowned nor setsid nor doubly forked children outlive their command."""
    marker = f"31{os.getpid()}"
    double = f"import os,time\nos.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); time.sleep({marker})"
    command = f'sleep {marker} & disown; setsid sleep {marker} & {PYTHON} -c "{double}"; echo done'
    result = confined.run(command)
    assert (result.ended, result.output) == ("exited", "done\n")
    assert alive(marker) == []


def test_timeout_ends_everything(confined: Worktree) -> None:
    """At the time limit the whole tree is ended, also what ignores SIGTERM; the output so far is kept."""
    marker = f"32{os.getpid()}"
    result = limited(
        confined, f"echo before; trap '' TERM; setsid sleep {marker} & sleep {marker}; sleep {marker}", timeout_s=2.0
    )
    assert (result.ended, result.exit_code, result.output) == ("timeout", None, "before\n")
    assert "2 seconds" in result.detail
    assert alive(marker) == []


def test_sigterm_comes_first(confined: Worktree) -> None:
    """A command has a moment to clean up before it is killed."""
    code = (
        "import signal, sys, time\nsignal.signal(15, lambda *_: (print('cleaned', flush=True), sys.exit()))\n"
        "print('up', flush=True); time.sleep(60)"
    )
    assert limited(confined, f'{PYTHON} -c "{code}"', timeout_s=4.0).output == "up\ncleaned\n"


def test_silence_ends_a_command(confined: Worktree) -> None:
    """So many seconds without output end it; output keeps it alive."""
    result = limited(confined, "for i in 1 2 3 4; do echo $i; sleep 0.3; done; sleep 60", idle_s=1.5)
    assert (result.ended, result.output) == ("idle", "1\n2\n3\n4\n")


def test_output_is_bounded(confined: Worktree) -> None:
    """A hundred megabytes of output are cut at the limit and end the command."""
    result = limited(confined, "head -c 100000000 /dev/zero | tr '\\0' x", output_bytes=50_000)
    assert (result.ended, len(result.output)) == ("output", 50_000)


def test_memory_hog_is_ended(confined: Worktree) -> None:
    """A tree of processes that holds more memory than allowed is ended, with the figure."""
    code = (
        "import os,time\nos.fork(); x = bytearray(120000000)\nfor i in range(0, len(x), 4096): x[i] = 1\ntime.sleep(9)"
    )
    result = limited(confined, f'{PYTHON} -c "{code}"', memory_bytes=200_000_000)
    assert result.ended == "memory"
    assert "limit 200" in result.detail


def test_shared_memory_counts_once(confined: Worktree) -> None:
    """Forked children that share their parent's pages are not counted for each again."""
    code = (
        "import os,time\nx = bytearray(100_000_000)\nfor i in range(0, len(x), 4096): x[i] = 1\n"
        "for _ in range(6):\n    if not os.fork(): time.sleep(0.6); os._exit(0)\ntime.sleep(0.8); print('fine')"
    )
    assert limited(confined, f'{PYTHON} -c "{code}"', memory_bytes=300_000_000).output == "fine\n"


def test_fork_bomb_is_bounded(confined: Worktree) -> None:
    """A tree that multiplies is ended by the number of its processes, at once, and none is left. (This one stops by
    itself at 1,024, so that a failure here does not take the machine with it.)"""
    marker = f"33{os.getpid()}"
    bomb = f"import os,time\nfor _ in range(10): os.fork()\ntime.sleep(60) # {marker}"
    result = limited(confined, f'{PYTHON} -c "{bomb}"', tasks=100, timeout_s=20.0)
    assert result.ended == "memory"
    assert "processes, limit 100" in result.detail
    assert alive(marker) == []


def test_interrupt_leaves_nothing_behind(confined: Worktree, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the engine is interrupted in the middle of a command, the command's processes are gone."""
    marker = f"34{os.getpid()}"

    def interrupt(root: int, enough: int) -> tuple[int, int]:
        raise KeyboardInterrupt

    monkeypatch.setattr(process_tree, "measure", interrupt)
    with pytest.raises(KeyboardInterrupt):
        confined.run(f"setsid sleep {marker} & sleep {marker}")
    assert alive(marker) == []


def test_command_leaves_no_private_folder(confined: Worktree) -> None:
    """HOME, /tmp and /dev/shm of a command are removed with it, and hold nothing of the one before."""
    confined.run("echo x > $HOME/planted; mkdir -m 000 $TMPDIR/locked")
    assert list(confined.place.scratch.iterdir()) == []


def test_command_too_long_to_start_is_told(confined: Worktree) -> None:
    """What cannot be started is `not_started`, with the reason."""
    result = confined.run("true " + "x" * 3_000_000)
    assert (result.ended, result.exit_code) == ("not_started", None)
    assert "could not be started" in result.detail


def test_time_asked_for_is_capped(workspace: Worktree) -> None:
    """A worker cannot ask for more time than the settings allow."""
    assert CommandLimits.of(workspace.settings, 10**9).timeout_s == 600.0
    assert CommandLimits.of(workspace.settings, 5).timeout_s == 5
    assert CommandLimits.of(workspace.settings).timeout_s == 600.0
