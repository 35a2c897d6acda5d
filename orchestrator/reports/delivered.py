"""What a person is to know of a run's work before they merge it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.attempt import AttemptSummary
from orchestrator.domain.graph_ports import GraphReader
from orchestrator.domain.ports import Workspaces
from orchestrator.domain.query import ResultRow
from orchestrator.domain.run import Run
from orchestrator.gates.delivered import runs_later
from orchestrator.reports.ask import ask_graph


@dataclass(frozen=True, slots=True)
class DeliveredWork:
    """Paths that tasks were `granted` beyond their own while they worked (task, paths, decidedBy), and the files of the
    branch that execute when it is built, tested, committed to or opened."""

    granted: tuple[ResultRow, ...] = ()
    runs_later: tuple[str, ...] = ()


NOTHING_DELIVERED = DeliveredWork()


def accepted_with(history: Sequence[AttemptSummary]) -> tuple[str, ...]:
    """What gates and QC say of a task's accepted work and do not hold against it: their warnings, each once. Nothing
    where the newest attempt was not accepted."""
    if not history or history[-1].status != "accepted":
        return ()
    return tuple(dict.fromkeys(f.message for f in history[-1].findings if f.severity == "warning"))


def delivered_work(reader: GraphReader, workspaces: Workspaces, run: Run | None) -> DeliveredWork:
    """The same of a run; of one that has accepted nothing there is nothing to know. Raises GraphError kinds."""
    if run is None or run.head_commit == run.base_commit:
        return NOTHING_DELIVERED
    before, after = (workspaces.tree_of(commit) for commit in (run.base_commit, run.head_commit))
    there = (change.path for change in workspaces.changes(before, after) if change.status != "deleted")
    return DeliveredWork(tuple(ask_graph(reader, "granted_paths", run=run.id)), runs_later(there))
