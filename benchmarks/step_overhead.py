"""What one worker step costs: ours, with every fact durable in the embedded graph, beside a bare openai loop.

A step is one reply of a zero-latency model with one write_file of 200 bytes. On one server that has seen 200 steps
before (a JVM is slow until it has compiled what is hot) five rounds are run, in each ours at 200 steps between two runs
of the bare loop, so that a machine that slows down slows both, and ours again over each other wire. Printed, each as
the median of the five with the least and the most: the ratio, milliseconds a step of both, ours at 200 against ours at
50 steps, the other wires against chat completions; and what a step stores at rest. Run it with
`python -m benchmarks.step_overhead`; it takes four minutes. Quote it from a machine that does nothing else.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from agents.chat.wires import WIRES
from benchmarks.bare_loop import bare_loop, model_process
from orchestrator.app import App
from orchestrator.domain.progress import CallFinished, Progress, TurnStarted
from orchestrator.engine.runs import ExecuteOptions
from orchestrator.planning.source import PlanSource
from orchestrator.planning.validate import Examined, examine
from orchestrator.store.embedded.server import embedded_stop
from tests.support.story import clean_environment, make_repository

SHORT, LONG, ROUNDS = 50, 200, 5
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


@dataclass(frozen=True, slots=True)
class Round:
    """Milliseconds a step: ours at 50 and at 200 steps, and of the bare loop just before and after; ours at 200 steps
    over the other wires."""

    short: float
    long: float
    bare: float
    others: Mapping[str, float]

    @property
    def ratio(self) -> float:
        """Ours to the bare loop's."""
        return self.long / self.bare


@contextmanager
def graph_home() -> Iterator[Path]:
    """A repository whose embedded server is stopped at the end."""
    with tempfile.TemporaryDirectory() as folder:
        repository = make_repository(Path(folder) / "repository")
        try:
            yield repository
        finally:
            embedded_stop(repository / ".git" / "orchestrate")


def rounds() -> Iterator[Round]:
    """Five rounds on one warm server."""
    with graph_home() as repository:
        _steps(repository, LONG)
        for _ in range(ROUNDS):
            before, short = bare(LONG), _steps(repository, SHORT)
            long, after = _steps(repository, LONG), bare(LONG)
            others: Mapping[str, float] = {
                str(wire): _steps(repository, LONG, wire) for wire in WIRES if wire != "chat"
            }
            yield Round(short, long, (before + after) / 2, others)


def stored(steps: int) -> int:
    """Bytes of the graph's folder at rest after one plan of so many steps."""
    with graph_home() as repository:
        _steps(repository, steps)
        home = repository / ".git" / "orchestrate"
        embedded_stop(home)  # at rest the write-ahead log is folded in
        return _size(home / "graph")


def _steps(repository: Path, steps: int, wire: str = "chat") -> float:
    marks: list[float] = []

    def listen(progress: Progress) -> None:
        if isinstance(progress, TurnStarted | CallFinished) and progress.task == "steps":
            marks.append(time.perf_counter())

    with model_process(script(steps)) as base_url:
        environ = clean_environment(OPENAI_BASE_URL=base_url, ORCHESTRATE_MODELS_API=wire, **ENVIRONMENT)
        with App(repository, environ, flags={"sandbox.level": "none"}, on_wait=print) as app:
            app.listener = listen
            outcome = app.execute_plan(app.load_plan(plan_file(steps)).plan, ExecuteOptions())
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


def spread(figures: Iterable[float]) -> str:
    """The median, with the least and the most."""
    ordered = sorted(figures)
    return f"{statistics.median(ordered):.3g} ({ordered[0]:.3g} to {ordered[-1]:.3g})"


def main() -> None:
    """Measure, and print medians, ratios and their spread."""
    measured: list[Round] = []
    for found in rounds():
        measured.append(found)
        print(f"ours {found.long:.1f} ms a step, bare loop {found.bare:.1f}: {found.ratio:.3f}", file=sys.stderr)
    figures = {
        f"ours / bare loop, median of {ROUNDS} (bar: 0.4)": spread(found.ratio for found in measured),
        f"ours, ms a step at {LONG} steps": spread(found.long for found in measured),
        f"ours, ms a step at {SHORT} steps": spread(found.short for found in measured),
        f"bare openai loop, ms a step at {LONG} steps": spread(found.bare for found in measured),
        f"ours at {LONG} / at {SHORT} (bar: 1.1)": spread(found.long / found.short for found in measured),
        **{
            f"ours over {wire} / over chat (bar: 1.1)": spread(found.others[wire] / found.long for found in measured)
            for wire in measured[0].others
        },
        "stored, bytes a step (bar: 5000)": round((stored(LONG) - stored(SHORT)) / (LONG - SHORT)),
    }
    print(yaml.safe_dump(figures, sort_keys=False))


if __name__ == "__main__":
    main()
