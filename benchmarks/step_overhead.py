"""What one worker step costs: ours, with every fact durable in the embedded graph, beside a bare openai loop.

A step is one reply of a zero-latency model with one write_file of 200 bytes. Printed: milliseconds a step for both at
200 steps and the ratio, ours at 200 against ours at 50 steps (on one server that has seen 200 steps before: a JVM is
slow until it has compiled what is hot), and what a step stores at rest. Run it with
`python -m benchmarks.step_overhead`; it takes about a minute. Quote it from a machine that does nothing else.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from benchmarks.bare_loop import bare_loop, model_process
from orchestrator.app import execute_plan, load_plan, open_app
from orchestrator.domain.progress import CallFinished, Progress, TurnStarted
from orchestrator.engine.runs import ExecuteOptions
from orchestrator.planning.source import PlanSource
from orchestrator.planning.validate import Examined, examine
from orchestrator.store.embedded.server import embedded_stop
from tests.support.story import clean_environment, make_repository

SHORT, LONG, ROUNDS = 50, 200, 3
ENVIRONMENT = {
    "ORCHESTRATE_MODEL": "scripted",
    "ORCHESTRATE_GUARDS_PROGRESS_WARN": "100000",
    "ORCHESTRATE_GUARDS_PROGRESS_STOP": "100000",
}


def script(steps: int) -> dict[str, Any]:
    """A worker that writes one new file of 200 bytes a step, then finishes; a QC that passes it."""
    writes = [
        {"call": ["write_file", {"path": f"out/{n:04}.txt", "file_text": f"{n:04}" + "x" * 195 + "\n"}]}
        for n in range(steps)
    ]
    review = {"passed": True, "score": 95, "feedback": "ok", "criteria": [], "findings": []}
    return {
        "model": "scripted",
        "conversations": [
            {"when": {"role": "worker"}, "replies": [*writes, {"call": ["finish_task", {"summary": "written"}]}]},
            {"when": {"role": "verifier"}, "replies": [{"call": ["submit_review", review]}]},
            {"when": {}, "replies": writes},
        ],
    }


def ours(*plans: int) -> tuple[list[float], int]:
    """Milliseconds a step for each of the plans (of so many steps) on one server, from the first request to the last
    result, and the bytes in the graph's folder at rest after them."""
    with tempfile.TemporaryDirectory() as folder:
        repository = make_repository(Path(folder) / "repository")
        try:
            figures = [_steps(repository, steps) for steps in plans]
        finally:
            home = repository / ".git" / "orchestrate"
            embedded_stop(home)  # at rest the write-ahead log is folded in
        return figures, _size(home / "graph")


def _steps(repository: Path, steps: int) -> float:
    marks: list[float] = []

    def listen(progress: Progress) -> None:
        if isinstance(progress, TurnStarted | CallFinished) and progress.task == "steps":
            marks.append(time.perf_counter())

    with model_process(script(steps)) as base_url:
        environ = clean_environment(OPENAI_BASE_URL=base_url, **ENVIRONMENT)
        with open_app(repository, environ, flags={"sandbox.level": "none"}, on_wait=print) as app:
            app.listener = listen
            outcome = execute_plan(app, load_plan(app, plan_file(steps)).plan, ExecuteOptions())
    assert outcome is not None and outcome.status == "completed", outcome
    return (marks[2 * steps - 1] - marks[0]) / steps * 1000


def plan_file(steps: int) -> Examined:
    """One task that writes so many files."""
    task = {
        "key": "steps",
        "prompt": "Write the files.",
        "allowed_paths": ["out/**"],
        "verification": ["true"],
        "tool_call_budget": steps + 5,
        "max_changed_files": steps + 5,
        "max_changed_lines": steps + 5,
    }
    return examine(PlanSource({"goal": "Measure a step", "tasks": [task]}))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and "log" not in path.parts)


def bare(steps: int) -> float:
    """Milliseconds a step of the bare loop: openai client, no graph, no guards, no snapshots."""
    with model_process(script(steps)) as base_url:
        return bare_loop(base_url, steps) / steps * 1000


def main() -> None:
    """Measure both in turn, and print medians and ratios."""
    rows = []
    for number in range(ROUNDS):
        (_, short, long), _ = ours(LONG, SHORT, LONG)
        peer = bare(LONG)
        rows.append((short, long, peer))
        print(f"round {number + 1}: ours {long:.1f} ms a step, bare loop {peer:.1f} ms", file=sys.stderr)
    short, long, peer = (statistics.median(column) for column in zip(*rows, strict=True))
    stored = (ours(LONG)[1] - ours(SHORT)[1]) / (LONG - SHORT)
    figures = {
        f"ours, ms a step at {LONG} steps": round(long, 2),
        f"ours, ms a step at {SHORT} steps": round(short, 2),
        f"bare openai loop, ms a step at {LONG} steps": round(peer, 2),
        "ours / bare loop (bar: 0.5)": round(statistics.median(row[1] / row[2] for row in rows), 3),
        f"ours at {LONG} / at {SHORT} (bar: 1.1)": round(long / short, 3),
        "stored, bytes a step (bar: 5000)": round(stored),
    }
    print(yaml.safe_dump(figures, sort_keys=False))


if __name__ == "__main__":
    main()
