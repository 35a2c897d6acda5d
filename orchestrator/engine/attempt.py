"""One attempt, from claim to conclusion: workspace, conversation, gates, review, decision.

Whatever happens, the attempt's node is closed on the way out (graph-model.md, rule 1); what this process cannot close,
because it died or lost the graph, the next one closes as interrupted.
"""

from __future__ import annotations

import json
import traceback
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

from orchestrator.domain import stops
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
from orchestrator.domain.finding import Finding
from orchestrator.domain.lifecycle import AttemptStatus
from orchestrator.domain.ports import Assignment, DependencyResult, Session, Workspace
from orchestrator.domain.progress import AttemptEnded, TaskClaimed
from orchestrator.domain.records import AttemptSummary, AttemptTotals, Claim, Conclusion, Owner, Plan, Review
from orchestrator.engine.acceptance import Merged, accept
from orchestrator.engine.checkpass import CheckPass, check_attempt, check_workspace, without_snapshot
from orchestrator.engine.controls import WorkerControls
from orchestrator.engine.conversation import Conversation, Ending, Subject
from orchestrator.engine.dependencies import dependency_results
from orchestrator.engine.grants import pm_decides
from orchestrator.engine.journal import Journal
from orchestrator.engine.parts import Parts
from orchestrator.engine.purse import Purse, halts
from orchestrator.engine.review import Reviewed, review_attempt
from orchestrator.engine.start import Start, find_start
from orchestrator.engine.totals import Totals
from orchestrator.gates.decision import decide, diagnose, out_of_attempts
from orchestrator.guards.panel import Panel, replay

_ENDING_TOOLS = frozenset({"finish_task", "give_up"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the scheduler needs to know: the conclusion, and an error that ends the whole run."""

    conclusion: Conclusion | None
    halt: OrchestrateError | None = None


class Attempt:
    """One claimed attempt. `execute` is called once."""

    def __init__(self, parts: Parts, plan: Plan, claim: Claim, purse: Purse) -> None:
        self._parts = parts
        self._plan = plan
        self._claim = claim
        self._purse = purse
        self._began = parts.clock.monotonic()
        self._totals = Totals()
        self._tree: str | None = None
        self._worker_output = ""
        self._earlier: tuple[AttemptSummary, ...] = ()
        self._subject = Subject(claim.task.key, claim.number)
        self._commands = tuple(dict.fromkeys((*claim.task.verification, *plan.verification)))

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
            return self._conclude("interrupted", "interrupted", str(error), halt=error)
        except WorkspaceError as error:
            return self._conclude("failed", "workspace_error", str(error))
        except ModelError as error:
            return self._conclude("failed", "model_error", str(error), halt=error)
        except Exception as error:  # ours: closed, with its traceback in the graph, and raised on
            self._conclude(
                "failed", "workspace_error", f"{type(error).__name__}: {error}", trace=traceback.format_exc()
            )
            raise

    def _execute(self) -> Outcome:
        head = self._parts.reader.run(self._claim.run_id).head_commit
        start = find_start(self._parts, self._claim, head)
        self._earlier = start.earlier
        self._tree = start.tree
        workspace = self._parts.workspaces.open(self._claim.attempt_id, start.tree, head=start.base)
        try:
            return self._work(start, workspace)
        finally:
            workspace.close()

    def _work(self, start: Start, workspace: Workspace) -> Outcome:
        dependencies = dependency_results(self._parts, self._claim.task, self._plan, workspace)
        session = self._parts.worker.begin(self._assignment(start, dependencies), workspace)
        self._describe(start, session)
        allowed = start.allowed_paths
        if start.finished is not None:
            self._worker_output = start.finished.worker_output
        else:
            ending, controls = self._converse(start, session, workspace)
            allowed = tuple(dict.fromkeys((*allowed, *controls.granted_paths)))
            if ending.reason != "submitted" or ending.tool != "finish_task":
                return self._not_finished(ending)
            self._worker_output = str(ending.arguments.get("summary", ""))
        return self._judge(start, workspace, allowed, dependencies)

    # -- the worker ------------------------------------------------------------------------------------------------

    def _assignment(self, start: Start, dependencies: tuple[DependencyResult, ...]) -> Assignment:
        previous, guards = start.previous, self._parts.settings.guards
        return Assignment(
            goal=self._plan.goal,
            task=self._claim.task,
            number=self._claim.number,
            budget=self._claim.task.tool_call_budget,
            stage=start.stage,
            allowed_paths=start.allowed_paths,
            verification=self._commands,
            dependencies=dependencies,
            findings=tuple(f for f in previous.findings if f.blocking) if previous else (),
            failed_checks=tuple(c for c in previous.checks if c.outcome != "passed") if previous else (),
            previous=previous,
            progress_every=guards.progress_every,
        )

    def _describe(self, start: Start, session: Session) -> None:
        limits = {
            "guards": self._parts.settings.guards.model_dump(mode="json"),
            "budget": self._claim.task.tool_call_budget,
            "allowedPaths": list(start.allowed_paths),
        }
        follows = start.earlier[-1].id if start.earlier else None
        self._parts.writer.describe_attempt(
            self._claim,
            {
                "model": session.model,
                "tree_before": start.tree,
                "base_commit": start.base,
                "allowed_paths": list(start.allowed_paths),
                "tool_call_budget": self._claim.task.tool_call_budget,
                "stage": start.stage,
                "limits_json": json.dumps(limits, sort_keys=True),
                "follows": follows,
            },
        )
        self._parts.listener(
            TaskClaimed(
                self._parts.clock.now(), self._subject.task, self._subject.attempt, self._claim.attempt_id,
                self._claim.task.title, self._claim.task.tool_call_budget, start.stage,
            )
        )  # fmt: skip

    def _panel(self, start: Start) -> Panel:
        begun = Panel.begin(self._parts.settings.guards, self._claim.task.tool_call_budget, start.allowed_paths)
        return replay(begun, start.inherited)

    def _converse(self, start: Start, session: Session, workspace: Workspace) -> tuple[Ending, WorkerControls]:
        owner = Owner("Attempt", self._claim.attempt_id, self._claim.attempt_id, self._claim.fence)
        findings = start.previous.findings if start.previous else ()
        arbiter = pm_decides(self._parts, self._claim.attempt_id, workspace, self._purse, self._subject)

        def changed(tree: str) -> tuple[str, ...]:
            return tuple(change.path for change in workspace.changes(start.base_tree, tree))

        controls = WorkerControls(self._claim.task, findings, arbiter, self._parts.clock, changed, start.inherited)
        journal = Journal(self._parts.writer, owner, self._panel(start))
        if start.last_event_at is not None:
            journal.judge(Resumed(at=self._parts.clock.now(), last_event_at=start.last_event_at))
        conversation = Conversation(
            session=session,
            journal=journal,
            workspace=workspace,
            purse=self._purse,
            controls=controls,
            ending_tools=_ENDING_TOOLS,
            subject=self._subject,
            clock=self._parts.clock,
            listener=self._parts.listener,
            cancelled=self._parts.cancelled,
            tree=start.tree,
            base_files=frozenset(self._parts.workspaces.files_of(start.base)),
        )
        try:
            return conversation.run(), controls
        finally:
            self._totals, self._tree = conversation.totals, conversation.tree

    def _not_finished(self, ending: Ending) -> Outcome:
        """The conversation ended without finish_task: stopped, given up, cut off, or the endpoint failed."""
        if ending.reason == "submitted":
            return self._conclude("failed", "gave_up", str(ending.arguments.get("reason", "")))
        if ending.reason == "interrupted":
            return self._conclude("interrupted", "interrupted", ending.detail)
        if ending.reason == "model_error":
            return self._conclude("failed", "model_error", ending.detail, halt=ending.error)
        halt = halts(ending.stop)  # the run's own bound is not the task's fault: the work goes on under a higher one
        return self._conclude("interrupted" if halt else "stopped", ending.reason, ending.detail, halt=halt)

    # -- the gates -------------------------------------------------------------------------------------------------

    def _judge(
        self,
        start: Start,
        workspace: Workspace,
        allowed: tuple[str, ...],
        dependencies: tuple[DependencyResult, ...],
    ) -> Outcome:
        self._parts.writer.await_review(
            self._claim, self._worker_output, self._tree or start.tree, self._parts.clock.now()
        )
        try:
            self._tree = workspace.snapshot()
        except ToolError as error:
            passed = without_snapshot(self._claim.attempt_id, self._tree or start.tree, error)
            return self._conclude("rejected", "gate_failed", _summary(passed.findings), passed=passed)
        name = check_workspace(self._claim.attempt_id)
        with closing(self._parts.workspaces.open(name, self._tree, head=start.base)) as checked:
            return self._judge_snapshot(start, self._tree, checked, allowed, dependencies)

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
            self._parts,
            self._claim,
            workspace,
            tree=tree,
            base_tree=start.base_tree,
            allowed_paths=allowed,
            commands=self._commands,
        )
        if self._parts.cancelled.is_set():
            return self._conclude("interrupted", "interrupted", self._parts.cancelled.reason, passed=passed)
        if passed.blocking:
            return self._conclude("rejected", "gate_failed", _summary(passed.findings), passed=passed)
        if passed.unanswered:
            detail = f"`{passed.unanswered[0].command}` gave no answer. {passed.unanswered[0].output[-500:]}"
            return self._conclude("failed", "check_infrastructure", detail, passed=passed)
        reviewed = review_attempt(
            self._parts,
            self._claim,
            workspace,
            passed,
            goal=self._plan.goal,
            worker_output=self._worker_output,
            diff=workspace.diff(start.base_tree, passed.tree),
            dependencies=dependencies,
            purse=self._purse,
        )
        return self._after_review(start, passed, reviewed)

    def _after_review(self, start: Start, passed: CheckPass, reviewed: Reviewed) -> Outcome:
        if reviewed.review is None:
            return self._unreviewed(passed, reviewed)
        if not reviewed.review.passed:
            detail = reviewed.review.feedback or _summary(reviewed.review.findings)
            return self._conclude("rejected", "review_failed", detail, passed=passed, review=reviewed.review)
        accepted = accept(
            self._parts,
            self._plan,
            self._claim,
            start,
            passed,
            self._commands,
            partial(self._conclusion, "accepted", "accepted", "", passed=passed, review=reviewed.review),
        )
        if accepted.findings:
            found = replace(passed, findings=(*passed.findings, *accepted.findings))
            return self._conclude(
                "rejected", "gate_failed", _summary(accepted.findings), passed=found, review=reviewed.review
            )
        return self._ended(accepted.conclusion, accepted.error)

    def _unreviewed(self, passed: CheckPass, reviewed: Reviewed) -> Outcome:
        if reviewed.interrupted:
            return self._conclude("interrupted", "interrupted", self._parts.cancelled.reason, passed=passed)
        if reviewed.bound is not None:  # neither the worker's fault nor QC's: under a higher bound QC is asked again
            return self._conclude("interrupted", "interrupted", reviewed.error, passed=passed, halt=reviewed.bound)
        if reviewed.model_error is not None:
            return self._conclude("failed", "model_error", reviewed.error, passed=passed, halt=reviewed.model_error)
        return self._conclude("failed", "review_error", reviewed.error, passed=passed)

    # -- the conclusion --------------------------------------------------------------------------------------------

    def _conclude(
        self,
        status: AttemptStatus,
        reason: str,
        detail: str,
        *,
        passed: CheckPass | None = None,
        review: Review | None = None,
        halt: OrchestrateError | None = None,
        trace: str = "",
    ) -> Outcome:
        conclusion = self._conclusion(status, reason, detail, passed=passed, review=review, trace=trace)
        self._parts.writer.conclude(self._claim, conclusion)
        return self._ended(conclusion, halt)

    def _conclusion(
        self,
        status: AttemptStatus,
        reason: str,
        detail: str,
        *,
        passed: CheckPass | None = None,
        review: Review | None = None,
        merged: Merged | None = None,
        trace: str = "",
    ) -> Conclusion:
        now = self._parts.clock.now()
        findings = passed.findings if passed else ()
        raised = review.findings if review and not review.passed else ()  # a pass outweighs what its mode lets through
        held = (*findings, *raised)
        ran_out = None if status == "accepted" else self._ran_out(status, reason)
        return Conclusion(
            attempt_status=status,
            stop_reason=reason,
            stop_detail=detail,
            task_status="completed" if status == "accepted" else "failed" if ran_out else "pending",
            task_stop_reason="completed" if status == "accepted" else ran_out,
            at=now,
            duration_ms=(self._parts.clock.monotonic() - self._began) * 1000,
            totals=self._attempt_totals(passed),
            worker_output=self._worker_output,
            tree_after=self._tree,
            findings=findings,
            review=review,
            decision=decide(
                findings=held,
                reviewed=bool(review and review.passed),
                ran_out=ran_out is not None,
                check_id=passed.id,
                stage=1,
                at=now,
                diff_hash=passed.tree,
            )
            if passed
            else None,
            diagnosis=diagnose(ran_out, f"{reason}. {detail}", self._earlier, held, stops.next_step(reason), now)
            if ran_out
            else None,
            commit=merged.commit if merged else None,
            head_before=merged.head_before if merged else None,
            head_after=merged.commit if merged else None,
            error_context={"traceback": trace} if trace else {},
        )

    def _ran_out(self, status: AttemptStatus, reason: str) -> str | None:
        return out_of_attempts(
            self._earlier,
            status,
            reason,
            max_attempts=self._claim.task.max_attempts,
            stops=self._parts.settings.run.stops,
        )

    def _attempt_totals(self, passed: CheckPass | None) -> AttemptTotals:
        changes = passed.changes if passed else ()
        return self._totals.of_attempt(
            files_changed=len(changes), lines_changed=sum(c.added + c.removed for c in changes)
        )

    def _ended(self, conclusion: Conclusion, halt: OrchestrateError | None = None) -> Outcome:
        totals = conclusion.totals
        self._parts.listener(
            AttemptEnded(
                conclusion.at, self._subject.task, self._subject.attempt, self._claim.attempt_id,
                conclusion.attempt_status, conclusion.stop_reason, conclusion.stop_detail, totals.tool_call_count,
                self._claim.task.tool_call_budget, totals.prompt_tokens + totals.completion_tokens, totals.cost_usd,
                conclusion.duration_ms, conclusion.review.score if conclusion.review else None,
            )
        )  # fmt: skip
        return Outcome(conclusion, halt)


def _summary(findings: tuple[Finding, ...]) -> str:
    return " ".join(finding.message for finding in findings if finding.blocking)
