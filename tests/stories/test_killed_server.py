"""The graph server killed under a run that needs it: the run waits for the next one, which nobody has to start."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from threading import Thread

from agents.scripted.server import ScriptedModel, serve
from orchestrator.store.embedded.server import embedded_status
from tests.support.processes import wait_until
from tests.support.scripts import SUB, call, finish, plan_of, review, script, slowly, task, worker
from tests.support.story import Story, attempts, make_repository

READ = call("read_file", path="calc.py")
WRITE = call("write_file", path="calc.py", file_text=SUB)


def test_a_run_waits_for_its_killed_server(tmp_path: Path) -> None:
    """First the supervisor, upon which the server ends by itself and says so to whoever asks meanwhile, then the server
    at once: what it says last is an outage and no refusal, and the attempt goes on as if nothing had been."""
    answers = script(worker("subtract", slowly(READ), slowly(WRITE), finish()), review())
    with Story(make_repository(tmp_path / "repository")).closing() as story, serve(answers) as served:
        story.use_model(served.base_url)
        story.plan(plan_of(task("subtract")))
        killing = Thread(target=_kill_twice, args=(story, served))
        killing.start()

        done = story.run("execute")

        killing.join(timeout=30)
        assert done.returncode == 0, done.stderr
        assert "refused" not in done.stderr
        assert attempts(story) == [(1, "accepted", "accepted")]


def _kill_twice(story: Story, served: ScriptedModel) -> None:
    wait_until(lambda: len(served.requests) == 1, seconds=60)
    first = embedded_status(story.home)
    assert first.supervisor is not None
    os.kill(first.supervisor, signal.SIGKILL)
    wait_until(lambda: len(served.requests) == 2, seconds=60)
    second = embedded_status(story.home)
    assert second.pid is not None and second.pid != first.pid
    os.kill(second.pid, signal.SIGKILL)
