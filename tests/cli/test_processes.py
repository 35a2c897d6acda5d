"""Each command once as users meet it, in a process of its own: what the other tests call in process answers alike."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from orchestrator.cli import COMMANDS
from tests.cli.conftest import Demo
from tests.support.story import Story

CALLS = {
    "demo": ("demo", "--into", "."),
    "doctor": ("doctor", "--json"),
    "plan": ("plan", "--file", "missing.yaml"),
    "execute": ("execute", "--dry-run", "--json"),
    "status": ("status",),
    "show": ("show",),
    "list": ("list", "runs", "--json"),
    "report": ("report",),
    "diff": ("diff", "median"),
    "retry": ("retry", "median"),  # completed: refused, so that the demo stays as it was
    "review": ("review", "durations"),  # nothing of it was accepted: refused
    "cancel": ("cancel", "nosuch"),
    "query": ("query", "-", "--format", "csv"),
    "calibrate": ("calibrate", "--replay", "limits.toml", "--json"),
    "graph": ("graph", "status", "--json"),
    "init": ("init", "--help"),  # what it writes would be there for the next call
    "settings": ("settings", "--json"),
    "trust": ("trust",),
    "completion": ("completion", "bash"),
}
ASKED = "MATCH (t:Task) RETURN t.key AS task, t.title AS title ORDER BY task\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_process_answers_as_a_call_in_this_one(name: str, demo: Demo, limits: Path) -> None:
    """Exit code, stdout and stderr are the same; only what clock and disk say may differ, so digits count as one."""
    here = demo.story.run(*CALLS[name], stdin=ASKED)
    there = demo.story.spawn(*CALLS[name], stdin=ASKED)
    assert there.returncode == here.returncode
    assert _without_digits(there) == _without_digits(here)
    assert there.stdout or there.stderr


@pytest.mark.parametrize("called", [("status",), ("show", "nosuch"), ("execute", "--nosuch")], ids=" ".join)
def test_a_forked_process_is_as_one_that_was_started(called: tuple[str, ...], demo: Demo) -> None:
    """What stories kill and signal (support/forked.py) ends and writes as the process that a user starts."""
    there, forked = demo.story.spawn(*called), demo.story.start(*called)
    out, err = forked.communicate(timeout=60)
    assert forked.returncode == there.returncode
    assert _without_digits(subprocess.CompletedProcess(called, 0, out, err)) == _without_digits(there)


def _without_digits(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [re.sub(r"\d+", "0", stream) for stream in (done.stdout, done.stderr)]


@pytest.fixture
def limits(demo: Demo) -> Path:
    """Limits for `calibrate`, where the demo's checkout does not see them."""
    story: Story = demo.story
    with (story.repository / ".git" / "info" / "exclude").open("a") as exclude:
        exclude.write("limits.toml\n")
    path = story.repository / "limits.toml"
    path.write_text("budget = 2\n")
    return path
