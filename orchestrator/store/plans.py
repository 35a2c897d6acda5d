"""Writing repositories, plans and planning rounds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from orchestrator.domain.errors import GraphError, UserError
from orchestrator.domain.plan import Plan, PlannedTask, PlanningRound, Repository
from orchestrator.store.connection import Row, Transaction
from orchestrator.store.part import Part

BATCH = 500
"""Rows of one statement; the transaction holds them all."""


class Plans(Part):
    """Repositories, plans, planning rounds."""

    def register_repository(self, repository: Repository) -> None:
        """Create or refresh the Repository node."""
        row = self._row(repository, name=repository.path.rstrip("/").rpartition("/")[2])
        self._connection.write(lambda tx: tx.run("repository_store", repository=row))

    def store_plan(self, plan: Plan) -> None:
        """Create or replace the plan's tasks, assessments, dependencies and files, in one transaction. A task that was
        executed keeps its status. Raises UserError when a task that was attempted would be dropped."""
        repository = self._row(plan.repository, name=plan.repository.path.rstrip("/").rpartition("/")[2])
        head = self._row(plan, without=("tasks", "repository"), repository=plan.repository.id, name=plan.goal[:60])
        tasks = [self._task_row(plan, position, planned) for position, planned in enumerate(plan.tasks)]

        def work(tx: Transaction) -> None:
            tx.run("repository_store", repository=repository)
            tx.run("plan_store", plan=head)
            _drop_missing(tx, plan)
            tx.run("plan_clear", planId=plan.id)
            _in_batches(tx, "tasks_store", tasks, planId=plan.id)
            _in_batches(tx, "tasks_depend", list(_dependencies(plan)))
            _in_batches(tx, "tasks_reads", list(self._files(plan, "files_read")), repository=plan.repository.id)
            _in_batches(tx, "tasks_writes", list(self._files(plan, "files_written")), repository=plan.repository.id)

        self._connection.write(work)

    def store_round(self, planning_round: PlanningRound) -> None:
        """Create or complete a planning round. Raises GraphError when its plan is not in the graph."""
        row = self._row(planning_round, name=f"Round {planning_round.number} ({planning_round.purpose})")
        if not self._connection.write(lambda tx: tx.run("round_store", round=row)):
            raise GraphError(
                f"Plan {planning_round.plan_id} of planning round {planning_round.id} is not in the graph."
            )

    def _task_row(self, plan: Plan, position: int, planned: PlannedTask) -> Row:
        task, assessment = planned.task, planned.assessment
        judged: Row = {
            "complexityScore": assessment.score,
            "complexityBand": assessment.band,
            "estimatedToolCalls": assessment.estimated_tool_calls,
        }
        order = f"{plan.id}:{position:06d}"
        name = f"Score {assessment.score} ({assessment.band})"
        return {
            "id": task.id,
            "status": planned.status,
            "task": self._row(task, name=task.title, orderKey=order, **judged),
            "assessment": self._row(assessment, id=f"{task.id}:assessment", name=name),
        }

    def _files(self, plan: Plan, field: str) -> Iterator[Row]:
        for planned in plan.tasks:
            for path in self._texts.clean(getattr(planned.task, field)):
                file = file_id(plan.repository.id, path)
                yield {"id": planned.task.id, "file": file, "path": path, "name": file_name(path)}


def file_id(repository_id: str, path: str) -> str:
    """The id of a File node."""
    return f"{repository_id}:{path}"


def file_name(path: str) -> str:
    """A file's display name."""
    return path.rpartition("/")[2] or path


def _drop_missing(tx: Transaction, plan: Plan) -> None:
    kept = {planned.task.id for planned in plan.tasks}
    gone = [row for row in tx.run("plan_task_ids", planId=plan.id) if row["id"] not in kept]
    attempted = [row["id"] for row in gone if row["attempted"]]
    if attempted:
        raise UserError(
            f"Plan {plan.id} cannot lose tasks that were attempted: {', '.join(attempted)}.",
            next_step="Keep them in the plan, or store the changed plan as a new one.",
        )
    if gone:
        tx.run("tasks_delete", ids=[row["id"] for row in gone])


def _dependencies(plan: Plan) -> Iterator[Row]:
    ids = {planned.task.key: planned.task.id for planned in plan.tasks}
    for planned in plan.tasks:
        for key in planned.task.depends_on:
            yield {"id": planned.task.id, "on": ids[key]}


def _in_batches(tx: Transaction, name: str, rows: list[Row], **parameters: str) -> None:
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH)):
        tx.run(name, rows=batch, **parameters)
