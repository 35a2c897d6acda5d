"""What tasks have used of their attempts, and what for: check passes, fixes and reviews, each counted on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.graph_ports import GraphReader
from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.gates.progress import Effort
from orchestrator.gates.retry import consumes_attempt
from orchestrator.reports.ask import ask_graph


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEffort:
    """What one task has used in its newest run, since a person had it tried again."""

    task: str
    attempts: int
    max_attempts: int
    effort: Effort

    @property
    def told(self) -> str:
        """`used 1 of 6 attempts: 2 check passes, 0 fixes, 0 reviews`, with a warning where it is due."""
        warning = f" ({self.effort.warning})" if self.effort.warning else ""
        return f"used {self.attempts} of {self.max_attempts} attempts: {self.effort.told}{warning}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tried:
    """An attempt as the bounds of its task see it."""

    task: str
    max_attempts: int
    run: str
    number: int
    status: AttemptStatus
    stop_reason: str | None
    stop_detail: str | None
    passes: frozenset[str]
    reviews: int


def task_efforts(reader: GraphReader, attempts: Sequence[str]) -> tuple[TaskEffort, ...]:
    """What the tasks of these attempts have used, in the order in which they were begun. Raises GraphError kinds."""
    rows = ask_graph(reader, "tried", ids=list(attempts)) if attempts else []
    tried = [_Tried(**{**row, "passes": frozenset(row["passes"])}) for row in rows]
    return tuple(_effort([each for each in tried if each.task == key]) for key in dict.fromkeys(t.task for t in tried))


def _effort(tried: Sequence[_Tried]) -> TaskEffort:
    last = tried[-1]
    counted = [each for each in tried if each.run == last.run]
    return TaskEffort(
        task=last.task,
        attempts=sum(map(consumes_attempt, counted)),
        max_attempts=last.max_attempts,
        effort=Effort.of(counted),
    )
