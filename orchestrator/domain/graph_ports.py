"""The ports to the graph: what the engine and the reports write and read. The store implements both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from orchestrator.domain.attempt import AttemptResult, AttemptSummary, Check, Owner
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.events import Event
from orchestrator.domain.fix import Fix
from orchestrator.domain.lifecycle import RunStatus
from orchestrator.domain.plan import Plan, PlanningRound, Repository
from orchestrator.domain.query import QueryResult
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim, ClaimRequest, Orphan, Run
from orchestrator.domain.task import Retry, TaskState
from orchestrator.domain.usage import AttemptUsage, Usage


class GraphWriter(Protocol):
    """Writes, each one managed transaction that is safe to repeat. Raises GraphError kinds; StaleFenceError where a
    fence is not current, with nothing written. More about each stands with the store's own."""

    def register_repository(self, repository: Repository) -> None:
        """Create or refresh the Repository node."""

    def store_plan(self, plan: Plan) -> None:
        """Create or replace the plan with all that it holds."""

    def store_round(self, planning_round: PlanningRound) -> None:
        """Create or complete a planning round of a stored plan (a draft will do)."""

    def open_run(self, run: Run, *, fresh: bool = False, leave: Sequence[str] = ()) -> Run:
        """Join the plan's open run, or create `run` (`fresh`: in any case, from the plan's base) in which the tasks
        with the keys `leave` stay as they are."""

    def finish_run(self, run_id: str, status: RunStatus, at: datetime) -> None:
        """Close the run, or mark it interrupted; a plan whose tasks are all completed becomes done."""

    def claim(self, request: ClaimRequest) -> Claim | None:
        """Claim one task whose dependencies are completed. None when nothing is claimable now."""

    def renew_leases(self, owner: str, until: datetime) -> int:
        """Extend all leases of an owner; how many there were."""

    def record(self, owner: Owner, events: Sequence[Event]) -> None:
        """Write an owner's facts, in order."""

    def reserve(
        self,
        owner: Owner,
        events: Sequence[Event],
        *,
        run_id: str,
        worker: str,
        known: Collection[str],
        fits: Callable[[Sequence[AttemptUsage]], bool],
    ) -> bool:
        """Record the events if what other workers' attempts have used in the run `fits`; whether they were recorded."""

    def describe_attempt(self, claim: Claim, properties: Mapping[str, Any]) -> None:
        """Set properties of the running attempt that are known only after the claim."""

    def await_review(self, claim: Claim, worker_output: str, tree_after: str, at: datetime) -> None:
        """Task and attempt go from running to awaiting_qc."""

    def record_checks(self, claim: Claim, checks: Sequence[Check]) -> None:
        """Attach checks to the attempt."""

    def record_baseline(self, baseline: Baseline) -> None:
        """Attach a baseline with its checks to its run."""

    def begin_review(self, claim: Claim, review: Review) -> None:
        """Create the Review node (passed, score null) so that its turns can hang on it."""

    def record_review(self, claim: Claim, review: Review) -> None:
        """Create or complete the Review node, with what QC judged and raised."""

    def record_later_review(self, attempt_id: str, review: Review) -> None:
        """The same for an attempt that was accepted, and which nobody holds."""

    def retry_task(self, plan_id: str, retry: Retry) -> None:
        """Make a task pending and record the retry; a completed one only for a review. Raises TransitionError."""

    def cancel_task(self, task_id: str, at: datetime) -> bool:
        """Cancel a task and its live attempt. False for one that has ended."""

    def cancel_run(self, run: Run, at: datetime) -> None:
        """Cancel a run, what of its tasks has not ended, and their live attempts. Raises TransitionError."""

    def conclude(self, claim: Claim, conclusion: AttemptResult) -> bool:
        """End the attempt. False, with nothing written, when the run's head moved (merge again and repeat)."""

    def write_artefacts(self, task_id: str, documents: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the documents about a task as files; a failure is logged, since the graph has all of it."""

    def orphans(self, run_id: str, at: datetime, dead_owners: Sequence[str]) -> tuple[Orphan, ...]:
        """Attempts of the run whose lease expired or whose owner is among the dead."""

    def close_interrupted(self, orphan: Orphan, at: datetime) -> bool:
        """Close an orphan as interrupted. False when somebody else was first."""


class GraphReader(Protocol):
    """Reads. Raises GraphError kinds; QueryError for what the user's own Cypher got wrong."""

    def plan(self, plan_id: str) -> Plan:
        """A plan whole. Raises UserError for an unknown id."""

    def newest_plan(self, repository_id: str, *, status: str | None = None) -> str | None:
        """The id of the newest plan of a repository, if there is one."""

    def tasks(self, plan_id: str) -> tuple[TaskState, ...]:
        """A plan's tasks in plan order, with what has become of them."""

    def work_left(self, plan_id: str, keys: Sequence[str] | None) -> bool:
        """Whether one of these tasks (None: of all) is worked on by somebody, or may be claimed."""

    def run(self, run_id: str) -> Run:
        """A run. Raises UserError for an unknown id."""

    def newest_run(self, plan_id: str) -> Run | None:
        """The newest run of a plan."""

    def owners(self, run_id: str) -> tuple[str, ...]:
        """Who holds leases in a run."""

    def held_attempts(self, owner: str) -> frozenset[str]:
        """The ids of the attempts whose tasks an owner holds."""

    def trees_of_task(self, task_id: str, beginning: str) -> tuple[tuple[str, str], ...]:
        """The trees that a task's attempts left whose id begins so, each with the commit under it; newest first."""

    def artefact_folder(self, task_id: str) -> str:
        """Where the files about a task are; empty where there are none."""

    def history(self, task_id: str) -> tuple[AttemptSummary, ...]:
        """A task's attempts, oldest first."""

    def attempt(self, attempt_id: str) -> AttemptSummary:
        """One attempt. Raises UserError for an unknown id."""

    def events(self, attempt_id: str) -> tuple[Event, ...]:
        """An attempt's facts in the order in which they happened (events.py), without GuardFired."""

    def review_of(self, attempt_id: str) -> Review | None:
        """The attempt's newest review."""

    def review_bound_to(self, task_id: str, content_hash: str, *, after: int = 0) -> Review | None:
        """The newest verdict over a task that is bound to the same, of attempts with a number above `after`."""

    def fixes(self, task_id: str) -> tuple[Fix, ...]:
        """What was mended in a task, oldest first."""

    def accepted_calls(self, repository_id: str) -> Mapping[str, tuple[int, ...]]:
        """The tool calls of each accepted attempt in a repository, by the kind of its task."""

    def spans(self, run_id: str, task_id: str | None = None) -> tuple[tuple[datetime, datetime], ...]:
        """From when to when each of a run's attempts (or of one task's in it) was worked on."""

    def spend(self, *, run_id: str | None = None, task_id: str | None = None, attempt_id: str | None = None) -> Usage:
        """What a run has cost, or a task: in any run, in one run, or in one attempt. Reviews and the PM's decisions are
        included, unsettled turns at what they reserved. Nothing for neither run nor task."""

    def query(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, write: bool = False, limit: int | None = None
    ) -> QueryResult:
        """Run Cypher, read-only by right of the connection unless `write`."""

    def resolve(self, text: str, repository_id: str) -> tuple[str, str]:
        """(label, id) for a full id, a task's key in the newest plan, or a unique prefix of an id. A number behind one
        (`key:2`, `key #2`, `key:2:7`) is a task's attempt, or an attempt's tool call; a run's branch is the run, and
        `plan #2` is the newest plan. Raises UserError naming the candidates."""
