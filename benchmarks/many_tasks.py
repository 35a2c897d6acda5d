"""What a task costs as a plan grows: 300 independent tasks of one write, a zero-latency model, one thread.

All write the same ten files, so that the repository does not grow with the plan: a checkout costs what it holds.

Printed for each fifty tasks: milliseconds of CPU a task, of this process, of the programs that it starts (git), and of
the embedded graph server; then the last fifty to the second fifty (the first fifty also warm a JVM up). Claiming,
finishing and reporting a task must cost the same at 300 as at 10. Run it with `python -m benchmarks.many_tasks
[TASKS]`; it takes some two minutes. CPU time hardly depends on what else the machine does, but quote it from an idle
one.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.bare_loop import model_process
from benchmarks.step_overhead import graph_home
from orchestrator.app import App
from orchestrator.domain.progress import Progress, TaskEnded
from orchestrator.engine.runs import ExecuteOptions
from orchestrator.planning.source import PlanSource
from orchestrator.planning.validate import Examined, examine
from orchestrator.store.embedded.server import embedded_status
from tests.support.story import clean_environment

TASKS, GROUP = 300, 50


@dataclass(frozen=True, slots=True)
class CpuTime:
    """Seconds of CPU that have been used so far."""

    ours: float
    children: float
    server: float

    def since(self, before: CpuTime, tasks: int) -> dict[str, float]:
        """Milliseconds a task since then."""
        spent = (self.ours - before.ours, self.children - before.children, self.server - before.server)
        return dict(zip(("ours", "git", "server"), (round(each / tasks * 1000, 1) for each in spent), strict=True))


def cpu_time(server: int) -> CpuTime:
    """Of this process, its children that have ended, and the server (Linux)."""
    mine, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    fields = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()
    ticks = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return CpuTime(mine.ru_utime + mine.ru_stime, children.ru_utime + children.ru_stime, ticks)


def script(tasks: int) -> dict[str, Any]:
    """Workers that write a file and finish; a QC that passes it."""
    return {"model": "scripted", "conversations": [each for n in range(tasks) for each in _conversations(n)]}


def _conversations(number: int) -> Iterator[dict[str, Any]]:
    key = f"t{number:03}"
    review = {"passed": True, "score": 95, "feedback": "ok", "criteria": [], "findings": []}
    write = {"call": ["write_file", {"path": f"out/{number % 10}.txt", "file_text": f"{key}\n"}]}
    finish = {"call": ["finish_task", {"summary": "written"}]}
    yield {"when": {"role": "worker", "task": key}, "replies": [write, finish]}
    yield {"when": {"role": "verifier", "task": key}, "replies": [{"call": ["submit_review", review]}]}


def plan_file(tasks: int) -> Examined:
    """So many tasks that do not depend on each other."""
    listed = [
        {"key": f"t{n:03}", "prompt": f"Write out/{n % 10}.txt.", "allowed_paths": ["out/**"], "verification": ["true"]}
        for n in range(tasks)
    ]
    return examine(PlanSource({"goal": "Measure many tasks", "tasks": listed}))


def measure(tasks: int) -> list[dict[str, float]]:
    """Milliseconds of CPU a task, for each fifty of so many."""
    marks: list[CpuTime] = []
    with graph_home() as repository, model_process(script(tasks)) as base_url:
        environ = clean_environment(OPENAI_BASE_URL=base_url, ORCHESTRATE_MODEL="scripted")
        with App(repository, environ, flags={"sandbox.level": "none"}, on_wait=print) as app:
            plan = app.load_plan(plan_file(tasks)).plan
            server = embedded_status(app.home).pid
            assert server is not None

            def listen(progress: Progress) -> None:
                if isinstance(progress, TaskEnded):
                    marks.append(cpu_time(server))

            app.listener = listen
            marks.append(cpu_time(server))
            outcome = app.execute_plan(plan, ExecuteOptions())
    assert outcome is not None and outcome.status == "completed", outcome
    ends = range(GROUP, len(marks), GROUP)
    return [marks[end].since(marks[end - GROUP], GROUP) for end in ends]


def main() -> None:
    """Measure and print."""
    groups = measure(int(sys.argv[1]) if len(sys.argv) > 1 else TASKS)
    for number, group in enumerate(groups):
        print(f"tasks {number * GROUP + 1} to {(number + 1) * GROUP}: {group}")
    if len(groups) > 2:
        ratios = {name: round(groups[-1][name] / max(groups[1][name], 0.1), 2) for name in groups[0]}
        print(yaml.safe_dump({"the last fifty / the second fifty (bar: 1.2)": ratios}, sort_keys=False))


if __name__ == "__main__":
    main()
