"""Reading plans, runs, attempts and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from orchestrator.domain.attempt import AttemptSummary, Check
from orchestrator.domain.errors import UserError
from orchestrator.domain.finding import Finding
from orchestrator.domain.plan import Plan, PlannedTask, Repository
from orchestrator.domain.review import Criterion, Review
from orchestrator.domain.run import Run
from orchestrator.domain.task import Assessment, Task, TaskState
from orchestrator.domain.usage import Usage
from orchestrator.store.connection import Row, Transaction
from orchestrator.store.mapping import build, instant
from orchestrator.store.part import Part

_T = TypeVar("_T")


class Reading(Part):
    """What was written, as records."""

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
        return self._build(Plan, head[0]["plan"], repository=repository, tasks=tasks)

    def newest_plan(self, repository_id: str, *, status: str | None = None) -> str | None:
        """The id of the newest plan of a repository, if there is one."""
        rows = self._rows("plan_newest", repositoryId=repository_id, status=status)
        return str(rows[0]["id"]) if rows else None

    def tasks(self, plan_id: str) -> tuple[TaskState, ...]:
        """A plan's tasks in plan order, with what has become of them."""
        return tuple(self._task_state(row) for row in self._rows("tasks_read", planId=plan_id))

    def run(self, run_id: str) -> Run:
        """A run. Raises UserError for an unknown id."""
        rows = self._rows("run_read", runId=run_id)
        if not rows:
            raise UserError(f"There is no run {run_id}.", next_step="`orchestrate status` lists what there is.")
        return self._build(Run, rows[0]["run"], joined=False)

    def newest_run(self, plan_id: str) -> Run | None:
        """The newest run of a plan."""
        rows = self._rows("run_newest", planId=plan_id)
        return self._build(Run, rows[0]["run"], joined=False) if rows else None

    def owners(self, run_id: str) -> tuple[str, ...]:
        """Who holds leases in a run."""
        return tuple(row["owner"] for row in self._rows("run_owners", runId=run_id))

    def history(self, task_id: str) -> tuple[AttemptSummary, ...]:
        """A task's attempts, oldest first."""
        return tuple(self.attempt(row["id"]) for row in self._rows("history_read", taskId=task_id))

    def attempt(self, attempt_id: str) -> AttemptSummary:
        """One attempt, with its checks and findings (the gates' and the review's, each once). Raises UserError for an
        unknown id."""

        def work(tx: Transaction) -> AttemptSummary:
            rows = tx.run("attempt_read", attemptId=attempt_id)
            if not rows:
                raise UserError(f"There is no attempt {attempt_id}.", next_step="`orchestrate show TASK` lists them.")
            stored = rows[0]["attempt"]
            found = self._findings(tx, "attempt_findings", attempt_id)
            raised = self._findings(tx, "review_findings", attempt_id)
            checks = tx.run("attempt_checks", attemptId=attempt_id)
            return self._build(
                AttemptSummary,
                stored,
                usage=build(Usage, stored),
                findings=tuple(dict.fromkeys(found + raised)),
                checks=tuple(self._build(Check, row["check"]) for row in checks),
            )

        return self._connection.read(work)

    def review_of(self, attempt_id: str) -> Review | None:
        """The attempt's review."""

        def work(tx: Transaction) -> Review | None:
            rows = tx.run("review_read", attemptId=attempt_id)
            if not rows:
                return None
            criteria = tx.run("review_criteria", attemptId=attempt_id)
            return self._build(
                Review,
                rows[0]["review"],
                criteria=tuple(self._build(Criterion, row["criterion"]) for row in criteria),
                findings=self._findings(tx, "review_findings", attempt_id),
            )

        return self._connection.read(work)

    def accepted_calls(self, repository_id: str) -> Mapping[str, tuple[int, ...]]:
        """The tool calls of each accepted attempt in a repository, by the kind of its task."""
        rows = self._rows("accepted_calls", repositoryId=repository_id)
        return {row["kind"]: tuple(row["calls"]) for row in rows}

    def spans(self, run_id: str, task_id: str | None = None) -> tuple[tuple[datetime, datetime], ...]:
        """From when to when each of a run's attempts (or of one task's in it) was worked on, as far as its facts
        tell."""
        rows = self._rows("run_spans", runId=run_id, taskId=task_id)
        return tuple((instant(row["begun"]), instant(row["ended"])) for row in rows)

    def spend(self, *, run_id: str | None = None, task_id: str | None = None) -> Usage:
        """What a run, or a task (within a run if both are given), has cost; reviews included, unsettled turns at what
        they reserved. Nothing for neither."""
        if run_id is not None:
            rows = self._rows("spend_run", runId=run_id, taskId=task_id)
        else:
            rows = self._rows("spend_task", taskId=task_id)
        if not rows:
            return Usage()
        row = rows[0]
        usd = None if row["unknown"] else float(row["usd"])
        return Usage(
            prompt_tokens=int(row["promptTokens"]), completion_tokens=int(row["completionTokens"]), cost_usd=usd
        )

    def resolve(self, text: str, repository_id: str) -> tuple[str, str]:
        """(label, id) for a full id, a task's key in the newest plan, or a unique prefix of an id. Raises UserError
        naming the candidates."""
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

    def _rows(self, name: str, **parameters: Any) -> list[Row]:
        return self._connection.read(lambda tx: tx.run(name, **parameters))

    def _build(self, cls: type[_T], stored: Row, **known: Any) -> _T:
        return build(cls, self._texts.whole(stored), **known)

    def _findings(self, tx: Transaction, name: str, attempt_id: str) -> tuple[Finding, ...]:
        return tuple(self._build(Finding, row["finding"]) for row in tx.run(name, attemptId=attempt_id))

    def _task_state(self, row: Row) -> TaskState:
        stored = row["task"]
        assessment = build(Assessment, row["assessment"]) if row["assessment"] else None
        more = {"task": self._build(Task, stored), "assessment": assessment}
        return self._build(TaskState, {"attemptNumber": 0} | stored, **more)


def _topmost(candidates: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The candidates without those below another one: the prefix of a task's id is that of its attempts' too."""
    ids = {found for found, _ in candidates}
    return [(found, label) for found, label in candidates if found.rpartition(":")[0] not in ids]


def _unresolved(text: str, candidates: list[tuple[str, str]]) -> UserError:
    if not candidates:
        return UserError(
            f"Nothing here has the id or key {text!r}.",
            next_step="Give a full id, a unique prefix of one, or a task's key in the newest plan.",
        )
    named = ", ".join(f"{found} ({label.lower()})" for found, label in candidates[:8])
    more = f" and {len(candidates) - 8} more" if len(candidates) > 8 else ""
    return UserError(f"{text!r} is the beginning of several ids: {named}{more}.", next_step="Give more of it.")
