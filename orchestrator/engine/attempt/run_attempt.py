"""One attempt, from claim to conclusion: workspace, conversation, gates, review, decision.

Whatever happens, the attempt's node is closed on the way out; what this process cannot close,
because it died or lost the graph, the next one closes as interrupted.
"""

from __future__ import annotations

import traceback
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

from orchestrator.domain.assignment import DependencyResult
from orchestrator.domain.attempt import AttemptResult, Owner
from orchestrator.domain.errors import (
    DiskFullError,
    GraphError,
    ModelError,
    OrchestrateError,
    StaleFenceError,
    ToolError,
    WorkspaceError,
)
from orchestrator.domain.events import Resumed
from orchestrator.domain.plan import Plan
from orchestrator.domain.ports import Session, Workspace
from orchestrator.domain.progress import AttemptEnded, TaskClaimed
from orchestrator.domain.run import Claim
from orchestrator.engine.attempt.assignment import assignment, attempt_properties, commands_of
from orchestrator.engine.attempt.dependencies import dependency_results
from orchestrator.engine.attempt.merge import merge_attempt
from orchestrator.engine.attempt.result import End, Facts, Merged, conclude
from orchestrator.engine.attempt.resume import Start, find_start
from orchestrator.engine.attempt.review import ReviewResult, review_attempt
from orchestrator.engine.attempt.verification import (
    VerificationResult,
    check_attempt,
    check_workspace,
    without_snapshot,
)
from orchestrator.engine.loop.approvals import ask_planner
from orchestrator.engine.loop.control_tools import WorkerControls
from orchestrator.engine.loop.conversation import Conversation, ConversationResult, Subject
from orchestrator.engine.loop.journal import Journal
from orchestrator.engine.loop.metering import Meter
from orchestrator.engine.services import Services
from orchestrator.guards.guard_set import GuardSet, replay

_ENDING_TOOLS = frozenset({"finish_task", "give_up"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the scheduler needs to know: the conclusion, and an error that ends the whole run."""

    conclusion: AttemptResult | None
    halt: OrchestrateError | None = None


class Attempt:
    """One claimed attempt. `execute` is called once."""

    def __init__(self, services: Services, plan: Plan, claim: Claim, meter: Meter) -> None:
        self._services = services
        self._plan = plan
        self._claim = claim
        self._meter = meter
        self._began = services.clock.monotonic()
        self._facts = Facts(claim, services.settings.run.max_stopped_attempts)
        self._subject = Subject(claim.task.key, claim.number)

    def execute(self) -> Outcome:
        """Run the attempt to its conclusion. Raises GraphError kinds (the graph is away: nothing more may happen) and,
        after closing the attempt, defects of ours."""
        try:
            return self._closed()
        except StaleFenceError:
            return Outcome(None)  # another process goes on with the task: nothing to conclude, nothing to end

    def _closed(self) -> Outcome:
        """Whatever ends it, the attempt is concluded."""
        try:
            return self._execute()
        except GraphError:
            raise
        except DiskFullError as error:  # the run's trouble, and no task's fault
            return self._conclude(End.interrupted(str(error), halt=error))
        except WorkspaceError as error:
            return self._conclude(End("failed", "workspace_error", str(error)))
        except ModelError as error:
            return self._conclude(End("failed", "model_error", str(error), halt=error))
        except Exception as error:  # ours: closed, with its traceback in the graph, and raised on
            detail = f"{type(error).__name__}: {error}"
            self._conclude(End("failed", "workspace_error", detail, trace=traceback.format_exc()))
            raise

    def _execute(self) -> Outcome:
        head = self._services.reader.run(self._claim.run_id).head_commit
        start = find_start(self._services, self._claim, head)
        self._facts = replace(self._facts, earlier=start.earlier, stage=start.stage, tree=start.tree)
        workspace = self._services.workspaces.open(self._claim.attempt_id, start.tree, head=start.base)
        try:
            return self._work(start, workspace)
        finally:
            workspace.close()

    def _work(self, start: Start, workspace: Workspace) -> Outcome:
        dependencies = dependency_results(self._services, self._claim.task, self._plan, workspace)
        told = assignment(self._plan, self._claim, start, self._services.settings, dependencies)
        session = self._services.worker.begin(told, workspace)
        self._describe(start, session)
        allowed = start.allowed_paths
        if start.finished is not None:
            self._facts = replace(self._facts, worker_output=start.finished.worker_output)
        else:
            ending, controls = self._converse(start, session, workspace)
            allowed = tuple(dict.fromkeys((*allowed, *controls.granted_paths)))
            if ending.reason != "submitted" or ending.tool != "finish_task":
                return self._conclude(End.unfinished(ending))
            self._facts = replace(self._facts, worker_output=str(ending.arguments.get("summary", "")))
        return self._judge(start, workspace, allowed, dependencies)

    # -- the worker ------------------------------------------------------------------------------------------------

    def _describe(self, start: Start, session: Session) -> None:
        described = attempt_properties(self._claim, start, self._services.settings, session.model)
        self._services.writer.describe_attempt(self._claim, described)
        self._services.listener(
            TaskClaimed(
                self._services.clock.now(), self._subject.task, self._subject.attempt, self._claim.attempt_id,
                self._claim.task.title, self._claim.task.tool_call_budget, start.stage,
            )
        )  # fmt: skip

    def _panel(self, start: Start) -> GuardSet:
        begun = GuardSet.begin(self._services.settings.guards, self._claim.task.tool_call_budget, start.allowed_paths)
        return replay(begun, start.inherited)

    def _converse(
        self, start: Start, session: Session, workspace: Workspace
    ) -> tuple[ConversationResult, WorkerControls]:
        owner = Owner("Attempt", self._claim.attempt_id, self._claim.attempt_id, self._claim.fence)
        findings = start.previous.findings if start.previous else ()
        arbiter = ask_planner(self._services, self._claim.attempt_id, workspace, self._meter, self._subject)

        def changed(tree: str) -> tuple[str, ...]:
            return tuple(change.path for change in workspace.changes(start.base_tree, tree))

        controls = WorkerControls(self._claim.task, findings, arbiter, self._services.clock, changed, start.inherited)
        journal = Journal(self._services.writer, owner, self._panel(start))
        if start.last_event_at is not None:
            journal.judge(Resumed(at=self._services.clock.now(), last_event_at=start.last_event_at))
        conversation = Conversation(
            session=session,
            journal=journal,
            workspace=workspace,
            meter=self._meter,
            controls=controls,
            ending_tools=_ENDING_TOOLS,
            subject=self._subject,
            clock=self._services.clock,
            listener=self._services.listener,
            cancelled=self._services.cancelled,
            tree=start.tree,
            base_files=frozenset(self._services.workspaces.files_of(start.base)),
        )
        try:
            return conversation.run(), controls
        finally:
            self._facts = replace(self._facts, totals=conversation.totals, tree=conversation.tree)

    # -- the gates -------------------------------------------------------------------------------------------------

    def _judge(
        self,
        start: Start,
        workspace: Workspace,
        allowed: tuple[str, ...],
        dependencies: tuple[DependencyResult, ...],
    ) -> Outcome:
        last = self._facts.tree or start.tree
        self._services.writer.await_review(self._claim, self._facts.worker_output, last, self._services.clock.now())
        try:
            tree = workspace.snapshot()
        except ToolError as error:
            return self._conclude(End.gate_failed(without_snapshot(self._claim.attempt_id, last, error)))
        self._facts = replace(self._facts, tree=tree)
        name = check_workspace(self._claim.attempt_id)
        with closing(self._services.workspaces.open(name, tree, head=start.base)) as checked:
            return self._judge_snapshot(start, tree, checked, allowed, dependencies)

    def _judge_snapshot(
        self,
        start: Start,
        tree: str,
        workspace: Workspace,
        allowed: tuple[str, ...],
        dependencies: tuple[DependencyResult, ...],
    ) -> Outcome:
        """The check pass, then QC, both over a fresh checkout of what was handed in."""
        passed = check_attempt(
            self._services,
            self._claim,
            workspace,
            tree=tree,
            base_tree=start.base_tree,
            allowed_paths=allowed,
            commands=commands_of(self._plan, self._claim),
        )
        if self._services.cancelled.is_set():
            return self._interrupted(passed)
        if passed.blocking:
            return self._conclude(End.gate_failed(passed))
        if passed.unanswered:
            detail = f"`{passed.unanswered[0].command}` gave no answer. {passed.unanswered[0].output[-500:]}"
            return self._conclude(End("failed", "check_infrastructure", detail, passed))
        reviewed = review_attempt(
            self._services,
            self._claim,
            workspace,
            passed,
            goal=self._plan.goal,
            worker_output=self._facts.worker_output,
            diff=workspace.diff(start.base_tree, passed.tree),
            dependencies=dependencies,
            meter=self._meter,
        )
        return self._after_review(start, passed, reviewed)

    def _after_review(self, start: Start, passed: VerificationResult, reviewed: ReviewResult) -> Outcome:
        if reviewed.interrupted:
            return self._interrupted(passed)
        if reviewed.review is None:
            return self._conclude(End.unreviewed(passed, reviewed))
        end = End.reviewed(passed, reviewed.review)
        return self._accept(start, passed, end) if end.status == "accepted" else self._conclude(end)

    def _accept(self, start: Start, passed: VerificationResult, end: End) -> Outcome:
        commands = commands_of(self._plan, self._claim)
        accepted = merge_attempt(
            self._services, self._plan, self._claim, start, passed, commands, partial(self._conclusion, end)
        )
        if accepted.conclusion is not None:
            return self._ended(accepted.conclusion, accepted.error)
        found = replace(passed, findings=(*passed.findings, *accepted.findings))
        return self._conclude(End.gate_failed(found, end.review))

    def _interrupted(self, passed: VerificationResult) -> Outcome:
        return self._conclude(End.interrupted(self._services.cancelled.reason, passed=passed))

    # -- the conclusion --------------------------------------------------------------------------------------------

    def _conclude(self, end: End) -> Outcome:
        conclusion = self._conclusion(end)
        self._services.writer.conclude(self._claim, conclusion)
        return self._ended(conclusion, end.halt)

    def _conclusion(self, end: End, merged: Merged | None = None) -> AttemptResult:
        clock = self._services.clock
        duration_ms = (clock.monotonic() - self._began) * 1000
        return conclude(end, self._facts, at=clock.now(), duration_ms=duration_ms, merged=merged)

    def _ended(self, conclusion: AttemptResult, halt: OrchestrateError | None = None) -> Outcome:
        totals = conclusion.totals
        self._services.listener(
            AttemptEnded(
                conclusion.at, self._subject.task, self._subject.attempt, self._claim.attempt_id,
                conclusion.attempt_status, conclusion.stop_reason, conclusion.stop_detail, totals.tool_call_count,
                self._claim.task.tool_call_budget, totals.prompt_tokens + totals.completion_tokens, totals.cost_usd,
                conclusion.duration_ms, conclusion.review.score if conclusion.review else None,
            )
        )  # fmt: skip
        return Outcome(conclusion, halt)
