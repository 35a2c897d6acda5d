"""The report of a run: what became of each of its tasks and why, from the graph alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from orchestrator.domain.fix import Fix
from orchestrator.domain.graph_ports import GraphReader
from orchestrator.domain.lives import FindingLife
from orchestrator.domain.plan import Plan
from orchestrator.domain.query import ResultRow
from orchestrator.domain.run import Run
from orchestrator.domain.task import TaskState
from orchestrator.domain.usage import Usage
from orchestrator.gates.lives import finding_lives
from orchestrator.reports.ask import ask_first, ask_graph, attempt_figures
from orchestrator.reports.delivered import accepted_with
from orchestrator.reports.effort import TaskEffort, task_efforts

MANY_CALLS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """One task of the run: its attempts in it, what they used, what stopped them, the lives of its findings, what was
    mended, and what is said of the accepted work and not held against it (`warnings`)."""

    state: TaskState
    attempts: tuple[ResultRow, ...]
    used: TaskEffort | None
    stops: tuple[ResultRow, ...]
    lives: tuple[FindingLife, ...]
    fixes: tuple[Fix, ...]
    warnings: tuple[str, ...]
    diagnosis: ResultRow

    @property
    def calls(self) -> int:
        """Executed calls of all its attempts in the run."""
        return sum(row["toolCalls"] for row in self.attempts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessFigures:
    """How well it went. The rate is of the tasks that ended completed or failed, spirals are attempts that a guard
    stopped, for each hundred tasks that were tried; calls are a task's in all its attempts, and `onset_ms` is the
    median time from where what was stopped had begun. None where there is nothing to count."""

    tried: int
    completed: int
    failed: int
    success_rate: float | None
    spirals_per_100: float | None
    median_calls: float | None
    over_100_calls: int
    onset_ms: float | None

    @classmethod
    def of(cls, tasks: Sequence[TaskReport]) -> SuccessFigures:
        """The figures of these tasks."""
        tried = [task for task in tasks if task.attempts]
        completed, failed = (sum(t.state.status == status for t in tried) for status in ("completed", "failed"))
        stops = [stop for task in tried for stop in task.stops]
        onsets = [stop["onsetMs"] for stop in stops if stop["onsetMs"] is not None]
        stopped = len({stop["attempt"] for stop in stops})
        return cls(
            tried=len(tried),
            completed=completed,
            failed=failed,
            success_rate=completed / (completed + failed) if completed + failed else None,
            spirals_per_100=100 * stopped / len(tried) if tried else None,
            median_calls=median(task.calls for task in tried) if tried else None,
            over_100_calls=sum(task.calls > MANY_CALLS for task in tried),
            onset_ms=median(onsets) if onsets else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """A run in full, in the order of its plan's tasks."""

    plan: Plan
    run: Run
    spend: Usage
    tasks: tuple[TaskReport, ...]
    figures: SuccessFigures


def run_report(reader: GraphReader, run_id: str) -> RunReport:
    """The report of a run. Raises UserError for an unknown id, GraphError kinds."""
    run = reader.run(run_id)
    rows = attempt_figures(reader, run_id)
    ids = [row["attempt"] for row in rows]
    used = {each.task: each for each in task_efforts(reader, ids)}
    stops = ask_graph(reader, "report_stops", ids=ids) if ids else []
    tasks = tuple(_task(reader, state, rows, used, stops) for state in reader.tasks(run.plan_id))
    return RunReport(
        plan=reader.plan(run.plan_id),
        run=run,
        spend=reader.spend(run_id=run_id),
        tasks=tasks,
        figures=SuccessFigures.of(tasks),
    )


def _task(
    reader: GraphReader,
    state: TaskState,
    rows: Sequence[ResultRow],
    used: dict[str, TaskEffort],
    stops: Sequence[ResultRow],
) -> TaskReport:
    attempts = tuple(row for row in rows if row["task"] == state.task.key)
    ids = {row["attempt"] for row in attempts}
    history = [each for each in reader.history(state.task.id) if each.id in ids] if attempts else []
    return TaskReport(
        state=state,
        attempts=attempts,
        used=used.get(state.task.key),
        stops=tuple(stop for stop in stops if stop["attempt"] in ids),
        lives=finding_lives(history),
        fixes=reader.fixes(state.task.id) if attempts else (),
        warnings=accepted_with(history),
        diagnosis=ask_first(reader, "task_diagnosis", task=state.task.id) if state.status == "failed" else {},
    )
