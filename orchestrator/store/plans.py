"""Repositories, plans with their tasks, and planning rounds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice

from orchestrator.domain.errors import GraphError, UserError
from orchestrator.domain.plan import CheckNeeds, Plan, PlannedTask, PlanningRound, Repository
from orchestrator.domain.run import BRANCHES
from orchestrator.domain.task import Assessment, Task, TaskState
from orchestrator.store.connection import Row, Transaction
from orchestrator.store.mapping import build, file_name
from orchestrator.store.records import LIVE, Records

_PARTS = re.compile(r"(?P<whole>.*?[^\s:#])(?P<numbers>(?:\s*[:#]\s*[0-9]{1,9}){1,2})")
BATCH = 500
"""Rows of one statement; the transaction holds them all."""


class Plans(Records):
    """Repositories, plans, planning rounds."""

    def register_repository(self, repository: Repository) -> None:
        """Create or refresh the Repository node."""
        row = self._repository_row(repository)
        self._connection.write(lambda tx: tx.run("repository_store", repository=row))

    def store_plan(self, plan: Plan) -> None:
        """Create or replace the plan's tasks, assessments, dependencies and files, in one transaction. A task that was
        executed keeps its status. Raises UserError when a task that was attempted would be dropped."""
        repository = self._repository_row(plan.repository)
        without, checks = ("tasks", "repository", "checks"), {each.command: asdict(each) for each in plan.checks}
        head = self._row(
            plan, without=without, repository=plan.repository.id, name=plan.goal[:60], checksJson=checks or None
        )
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

    def plan(self, plan_id: str) -> Plan:
        """A plan whole. Raises UserError for an unknown id."""
        head = self._rows("plan_read", planId=plan_id)
        if not head:
            raise UserError(f"There is no plan {plan_id}.", next_step="`orchestrate status` lists what there is.")
        tasks = tuple(
            PlannedTask(self._build(Task, row["task"]), build(Assessment, row["assessment"]), row["task"]["status"])
            for row in self._rows("tasks_read", planId=plan_id)
        )
        repository = build(Repository, head[0]["repository"])
        declared = json.loads(head[0]["plan"].get("checksJson") or "{}").values()  # an older release knew none
        checks = tuple(CheckNeeds(**{**each, "services": tuple(each["services"])}) for each in declared)
        return self._build(Plan, head[0]["plan"], repository=repository, tasks=tasks, checks=checks)

    def newest_plan(self, repository_id: str, *, status: str | None = None) -> str | None:
        """The id of the newest plan of a repository, if there is one."""
        rows = self._rows("plan_newest", repositoryId=repository_id, status=status)
        return str(rows[0]["id"]) if rows else None

    def work_left(self, plan_id: str, keys: Sequence[str] | None) -> bool:
        """Whether one of these tasks (None: of all) is worked on or may be claimed."""
        asked = None if keys is None else list(keys)
        return bool(self._rows("work_left", planId=plan_id, keys=asked, live=LIVE))

    def tasks(self, plan_id: str) -> tuple[TaskState, ...]:
        """A plan's tasks in plan order, with what has become of them."""
        return tuple(self._task_state(row) for row in self._rows("tasks_read", planId=plan_id))

    def resolve(self, text: str, repository_id: str) -> tuple[str, str]:
        """(label, id) for a full id, a task's key in the newest plan, or a unique prefix of an id; a number behind one
        (`key:2`, `key #2`, `key:2:7`) is a task's attempt, or an attempt's tool call; a run's branch is the run, and
        `plan #2`, as progress names a planning round, the newest plan. Raises UserError naming the candidates."""
        wanted = text.strip().removeprefix(BRANCHES)
        try:
            return self._resolve(wanted, repository_id)
        except UserError:
            parts = _PARTS.fullmatch(wanted)
            if parts is None:
                raise
            newest = self.newest_plan(repository_id)
            if parts["whole"] == "plan" and newest and not self._rows("resolve_key", planId=newest, key="plan"):
                return "Plan", newest
        label, found = self._resolve(parts["whole"], repository_id)
        for number in re.findall("[0-9]+", parts["numbers"]):
            label, found = self._part(label, found, int(number))
        return label, found

    def _part(self, label: str, id_: str, number: int) -> tuple[str, str]:
        part = {"Task": "Attempt", "Attempt": "ToolCall"}.get(label)
        if part is None:
            raise UserError(f"{id_} is a {label} and has no numbered parts.", next_step="Name a task or an attempt.")
        if not self._rows("resolve_part", id=f"{id_}:{number}", label=part):
            named = "attempt" if label == "Task" else "tool call"
            raise UserError(f"{label} {id_} has no {named} {number}.", next_step=f"See `orchestrate show {id_}`.")
        return part, f"{id_}:{number}"

    def _resolve(self, text: str, repository_id: str) -> tuple[str, str]:
        rows = self._rows("resolve_ids", repositoryId=repository_id, text=text) if text else []
        candidates = _topmost(sorted((row["id"], row["label"]) for row in rows))
        for found, label in candidates:
            if found == text:
                return label, found
        newest = self.newest_plan(repository_id)
        keyed = self._rows("resolve_key", planId=newest, key=text) if newest else []
        if keyed:
            return "Task", str(keyed[0]["id"])
        if len(candidates) == 1:
            return candidates[0][1], candidates[0][0]
        raise _unresolved(text, candidates)

    def _repository_row(self, repository: Repository) -> Row:
        return self._row(repository, name=repository.path.rstrip("/").rpartition("/")[2])

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
                file = f"{plan.repository.id}:{path}"
                yield {"id": planned.task.id, "file": file, "path": path, "name": file_name(path)}

    def _task_state(self, row: Row) -> TaskState:
        stored = row["task"]
        assessment = build(Assessment, row["assessment"]) if row["assessment"] else None
        more = {"task": self._build(Task, stored), "assessment": assessment}
        return self._build(TaskState, {"attemptNumber": 0} | stored, **more)


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


def _topmost(candidates: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The candidates without those below another one: the prefix of a task's id is that of its attempts' too."""
    ids = {found for found, _ in candidates}
    return [(found, label) for found, label in candidates if found.rpartition(":")[0] not in ids]


def _unresolved(text: str, candidates: list[tuple[str, str]]) -> UserError:
    if not candidates:
        return UserError(
            f"Nothing here has the id or key {text!r}.",
            next_step="Give a full id, a unique prefix of one, or a task's key in the newest plan (KEY:2 is its second "
            "attempt).",
        )
    named = ", ".join(f"{found} ({label.lower()})" for found, label in candidates[:8])
    more = f" and {len(candidates) - 8} more" if len(candidates) > 8 else ""
    return UserError(f"{text!r} is the beginning of several ids: {named}{more}.", next_step="Give more of it.")
