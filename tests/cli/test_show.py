"""`show` of what went wrong: errors of calls, a call whole, a task's change, by a pager on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess

import pytest

from agents.scripted.server import serve
from tests.support.processes import read_terminal
from tests.support.scripts import call, plan_of, script, task, worker
from tests.support.story import CLI, Story

LONG = "import sys\nprint('x' * 40_000)\nsys.exit('boom: no such table')\n"
RUN = call("run_command", command="python3 long.py")
WORK = [call("write_file", path="long.py", file_text=LONG), RUN, RUN, RUN, RUN]


@pytest.fixture
def stopped(fresh: Story) -> Story:
    """After a task whose first attempt wrote a file and ran into one error, and whose second only looked around."""
    looks = call("read_file", path="calc.py")
    with serve(script(worker("long", *WORK, attempt=1), worker("long", looks))) as model:
        fresh.use_model(model.base_url)
        fresh.plan(plan_of(task("long", writes=["long.py"])))
        assert fresh.run("execute").returncode == 1
    return fresh


def test_what_matters_of_a_stopped_task_is_shown(stopped: Story) -> None:
    """The failing call's error, the call whole though the graph holds it cut, and the change of the attempt that made
    one, said to be that one's; on a terminal by the user's pager."""
    shown = stopped.ok("show", "long:1")
    assert "| boom: no such table" in shown
    number = next(line.split()[0] for line in shown.splitlines() if "run_command" in line)
    whole = stopped.ok("show", "long #1", "--call", number)
    assert "command: python3 long.py" in whole and "x" * 40_000 in whole
    assert stopped.ok("show", f"long:1:{number}") == whole
    document = json.loads(stopped.ok("show", "long:1", "--call", number, "--json"))
    assert (document["tool"], document["status"]) == ("run_command", "error")
    assert "boom: no such table" in document["result"]
    diff = stopped.run("show", "long", "--diff")
    assert diff.stdout.count("\n+") == 4 and "+print('x' * 40_000)" in diff.stdout
    assert "the work of attempt 1" in diff.stderr
    assert stopped.run("show", "long", "--call", "1").returncode == 2
    assert stopped.run("show", "long:1", "--call", "1").returncode == 2
    assert stopped.run("show", "long:1", "--call", number, "--diff").returncode == 2

    screen, terminal = pty.openpty()
    paged = subprocess.Popen(
        (*CLI, "show", "long", "--diff"),
        cwd=stopped.repository,
        env=stopped.environ | {"TERM": "xterm", "PAGER": "sed s/^/paged:/"},
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
    )
    os.close(terminal)
    drawn = read_terminal(screen)
    assert paged.wait() == 0
    assert drawn.count("paged:") == len(diff.stdout.splitlines())
