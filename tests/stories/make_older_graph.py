"""Write what this release keeps of a run that is cut off: `python -m tests.stories.make_older_graph FOLDER`.

FOLDER holds script.yaml, what the scripted model says; the worker of its last conversation sleeps until it is killed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import yaml

from agents.scripted.server import serve
from tests.stories import older_graph
from tests.stories.story import Story, make_repository
from tests.stories.test_interruptions import kill, wait_until

BOUNDS = ("--max-tokens", "300000", "--deadline", "2h", "--parallel", "1")
PRICE = json.dumps({"input": 2.0, "cached_input": 0.5, "output": 10.0})
SLEEPING = "MATCH (c:ToolCall {status: 'running'}) WHERE c.argumentsJson CONTAINS 'sleep 30' RETURN c.id AS id"


def main(folder: Path) -> None:
    """Plan, execute, kill, write."""
    script = yaml.safe_load((folder / "script.yaml").read_text(encoding="utf-8"))
    with (
        tempfile.TemporaryDirectory() as parent,
        Story(make_repository(Path(parent) / "repository")).closing() as story,
        serve(script) as served,
    ):
        story.environ |= {f"ORCHESTRATE_MODELS_{role}_PRICE": PRICE for role in ("PLANNER", "WORKER", "VERIFIER")}
        story.use_model(served.base_url)
        story.ok("plan", "Make the calculator better")
        process = story.start("execute", *BOUNDS)
        try:
            wait_until(lambda: bool(story.ask(SLEEPING)))
        finally:
            kill(process)
        older_graph.write(story.repository, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
