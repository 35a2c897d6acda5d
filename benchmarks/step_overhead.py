"""What one worker step costs: ours, with every fact durable in the embedded graph, beside a bare openai loop.

A step is one reply of a zero-latency model with one write_file of 200 bytes. Printed: milliseconds a step for both at
200 steps and the ratio, ours at 200 against ours at 50 steps, and what a step stores. Run it with
`python -m benchmarks.step_overhead`; it takes about a minute.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from benchmarks.bare_loop import bare_loop, model_process
from orchestrator.domain.plan import PlanFile
from orchestrator.domain.progress import CallFinished, Progress, TurnStarted
from orchestrator.store.embedded import embedded_stop
from orchestrator.wiring import ExecuteOptions, execute_plan, load_plan, open_app
from tests.stories.story import clean_environment, make_repository

SHORT, LONG, ROUNDS = 50, 200, 3


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


def ours(steps: int) -> tuple[float, float]:
    """(milliseconds a step from the first request to the last result, bytes in the graph's folder) of one attempt."""
    with tempfile.TemporaryDirectory() as folder, model_process(script(steps)) as base_url:
        repository = make_repository(Path(folder) / "repository")
        environ = clean_environment(
            OPENAI_BASE_URL=base_url,
            ORCHESTRATE_MODEL="scripted",
            ORCHESTRATE_GUARDS_PROGRESS_WARN="100000",
            ORCHESTRATE_GUARDS_PROGRESS_STOP="100000",
        )
        file = PlanFile.model_validate(
            {
                "goal": "Measure a step",
                "tasks": [
                    {
                        "key": "steps",
                        "prompt": "Write the files.",
                        "allowed_paths": ["out/**"],
                        "verification": ["true"],
                        "tool_call_budget": steps + 5,
                        "max_changed_files": steps + 5,
                        "max_changed_lines": steps + 5,
                    }
                ],
            }
        )
        marks: list[float] = []
        with open_app(repository, environ, flags={"sandbox.level": "none"}, on_wait=print) as app:
            clock = app.clock

            def listen(progress: Progress) -> None:
                if isinstance(progress, TurnStarted | CallFinished) and progress.task == "steps":
                    marks.append(clock.monotonic())

            app.listener = listen
            plan = load_plan(app, file).plan
            outcome = execute_plan(app, plan, ExecuteOptions())
            assert outcome is not None and outcome.status == "completed", outcome
        embedded_stop(app.home)  # what is stored is measured at rest, when the write-ahead log is folded in
        return (marks[2 * steps - 1] - marks[0]) / steps * 1000, _size(app.home / "graph")


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
        (short, few), (long, many), peer = ours(SHORT), ours(LONG), bare(LONG)
        rows.append((short, long, peer, (many - few) / (LONG - SHORT)))
        print(f"round {number + 1}: ours {long:.1f} ms a step, bare loop {peer:.1f} ms", file=sys.stderr)
    short, long, peer, stored = (statistics.median(column) for column in zip(*rows, strict=True))
    print(
        yaml.safe_dump(
            {
                f"ours, ms a step at {LONG} steps": round(long, 2),
                f"ours, ms a step at {SHORT} steps": round(short, 2),
                f"bare openai loop, ms a step at {LONG} steps": round(peer, 2),
                "ours / bare loop (bar: 0.5)": round(long / peer, 3),
                f"ours at {LONG} / at {SHORT} (bar: 1.1)": round(long / short, 3),
                "stored, bytes a step (bar: 5000)": round(stored),
            },
            sort_keys=False,
        )
    )


if __name__ == "__main__":
    main()
