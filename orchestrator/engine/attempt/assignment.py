"""The worker's part: what it is told, its conversation, and what it hands in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from orchestrator.domain.assignment import Assignment, DependencyResult, RepeatedCall, StageNotice
from orchestrator.domain.attempt import AttemptSummary, Check, Decision
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.errors import ToolError
from orchestrator.domain.plan import Plan
from orchestrator.domain.ports import Session, Workspace
from orchestrator.domain.run import Claim
from orchestrator.domain.task import Task
from orchestrator.engine.attempt.record import AttemptRecord, attempt_journal
from orchestrator.engine.attempt.result import AttemptEnd, AttemptEnded
from orchestrator.engine.attempt.resume import Start, Work
from orchestrator.engine.attempt.verification import without_snapshot
from orchestrator.engine.loop.approvals import AskPlanner
from orchestrator.engine.loop.control_tools import WorkerControls
from orchestrator.engine.loop.conversation import Conversation
from orchestrator.engine.loop.metering import Meter
from orchestrator.engine.loop.progress import ProgressFeed, TurnLog
from orchestrator.engine.services import Services
from orchestrator.gates.baseline import known_failures
from orchestrator.gates.lives import course
from orchestrator.gates.retry import resumes
from orchestrator.gates.stage import most_changed
from orchestrator.guards.repeated import repeated_calls

_MOST_FAILURES = 20
_MOST_REASONS = 12
_REASON_CHARS = 400


def do_work(
    services: Services,
    plan: Plan,
    claim: Claim,
    start: Start,
    baseline: Baseline,
    meter: Meter | None,
    record: AttemptRecord,
) -> Work:
    """Open a workspace, have the worker work in it, take what it hands in. Raises AttemptEnded for a conversation that
    ends in any other way than by finish_task, and for a workspace that cannot be snapshotted."""
    with closing(services.workspaces.open(claim.attempt_id, start.tree, head=start.base, plan_id=plan.id)) as workspace:
        told = _assignment(services, plan, claim, start, baseline, workspace)
        session = services.worker.begin(told, workspace)
        record.begin(start, session.model)
        controls = _controls(services, claim, start, workspace, meter)
        conversation = _conversation(services, claim, start, session, workspace, meter, controls)
        record.conversation = conversation
        ended = conversation.run()
        if ended.tool != "finish_task":
            raise AttemptEnded(AttemptEnd.of_conversation(ended))
        output = str(ended.arguments.get("summary", ""))
        record.hand_in(output, conversation.tree)  # before the snapshot: only what was handed in can be rejected
        allowed = tuple(dict.fromkeys((*start.allowed_paths, *controls.granted_paths)))
        return Work(output=output, tree=_snapshot(claim, workspace, conversation.tree), allowed_paths=allowed)


def _snapshot(claim: Claim, workspace: Workspace, last: str) -> str:
    try:
        return workspace.snapshot()
    except ToolError as error:
        raise AttemptEnded(AttemptEnd.gate_failed(without_snapshot(claim, last, error))) from error


def _assignment(
    services: Services, plan: Plan, claim: Claim, start: Start, baseline: Baseline, workspace: Workspace
) -> Assignment:
    previous = start.previous
    found = (*(previous.findings if previous else ()), *start.remarks)
    return Assignment(
        goal=plan.goal,
        task=claim.task,
        number=claim.number,
        budget=claim.task.tool_call_budget,
        allowed_paths=start.allowed_paths,
        verification=plan.commands_of(claim.task),
        dependencies=dependency_results(services, plan, claim.task, workspace),
        findings=tuple(dict.fromkeys(f for f in found if f.blocking)),
        failed_checks=_failed_checks(previous),
        known_failures=known_failures(baseline),
        previous=previous,
        repeated=_repeated(services, previous),
        notice=_stage_notice(services, claim.task, start),
        fixers=start.fixers,
        course=course([each for each in start.earlier if not resumes(each)]),
        progress_every=services.settings.guards.progress_every,
        surroundings=workspace.surroundings,
    )


def _stage_notice(services: Services, task: Task, start: Start) -> StageNotice | None:
    """What the worker is told of the last rejected attempt; None at stage 1."""
    limits, rejected = services.settings.convergence.at(start.stage), start.standing.rejected
    last = rejected[-1].decision if rejected else None
    if limits is None or last is None:
        return None
    files, lines = most_changed(task, limits)
    return StageNotice(
        stage=start.stage,
        passes=len(rejected),
        max_files=files,
        max_lines=lines,
        failures=tuple(_failures(last, rejected[-1]))[:_MOST_FAILURES],
        reasons=tuple(reason[:_REASON_CHARS] for reason in last.reasons[:_MOST_REASONS]),
    )


def _failures(decision: Decision, attempt: AttemptSummary) -> Iterator[str]:
    """Each fingerprint with where it is and how often it was seen."""
    where = {finding.fingerprint: f" {finding.locus[:200]}" for finding in attempt.findings if finding.locus}
    counts = decision.counts or (1,) * len(decision.fingerprints)
    for fingerprint, count in zip(decision.fingerprints, counts, strict=False):
        yield f"{fingerprint}{where.get(fingerprint, '')} x{count}"


def _failed_checks(previous: AttemptSummary | None) -> tuple[Check, ...]:
    """Those of the attempt before that are to be mended: not what failed before it, what QC cited or what mends."""
    found = (c for c in (previous.checks if previous else ()) if c.outcome != "passed" and not c.as_before)
    return tuple(check for check in found if check.phase not in ("review", "fixer"))


def _repeated(services: Services, previous: AttemptSummary | None) -> tuple[RepeatedCall, ...]:
    """What the attempt before did over and over, if a bound stopped it: the way that this one is not to take."""
    if previous is None or previous.status != "stopped":
        return ()
    return repeated_calls(services.reader.events(previous.id))


def _controls(
    services: Services, claim: Claim, start: Start, workspace: Workspace, meter: Meter | None
) -> WorkerControls:
    feed = ProgressFeed(services.listener, claim.task.key, claim.number)

    def changed(tree: str) -> tuple[str, ...]:
        return tuple(change.path for change in workspace.changes(start.base_tree, tree))

    return WorkerControls(
        task=claim.task,
        findings=start.previous.findings if start.previous else (),
        policy=AskPlanner(services, claim.attempt_id, workspace, meter, feed),
        clock=services.clock,
        changed=changed,
        scope_grants=services.settings.run.scope_grants,
        inherited=start.inherited,
    )


def _conversation(
    services: Services,
    claim: Claim,
    start: Start,
    session: Session,
    workspace: Workspace,
    meter: Meter | None,
    controls: WorkerControls,
) -> Conversation:
    subscribers = (ProgressFeed(services.listener, claim.task.key, claim.number), TurnLog(claim.task.key))
    return Conversation(
        session=session,
        journal=attempt_journal(services, claim, start, subscribers),
        workspace=workspace,
        meter=meter,
        controls=controls,
        clock=services.clock,
        cancelled=services.cancelled,
        live=services.live(claim.task.key),
        tree=start.tree,
        base_files=frozenset(services.workspaces.files_of(start.base)),
    )


def dependency_results(
    services: Services, plan: Plan, task: Task, workspace: Workspace
) -> tuple[DependencyResult, ...]:
    """What a task's completed dependencies left, for its worker and for QC: summary, files and diff of the accepted
    attempt of each, in the order in which they are named."""
    by_key = {planned.task.key: planned.task for planned in plan.tasks}
    return tuple(_dependency_result(services, by_key[key], workspace) for key in task.depends_on if key in by_key)


def _dependency_result(services: Services, task: Task, workspace: Workspace) -> DependencyResult:
    accepted = next((a for a in reversed(services.reader.history(task.id)) if a.status == "accepted"), None)
    if accepted is None or accepted.commit is None:
        output = accepted.worker_output if accepted else ""
        return DependencyResult(key=task.key, title=task.title, summary=output, files=(), diff="")
    return _of_commit(services, task, accepted, accepted.commit, workspace)


def _of_commit(
    services: Services, task: Task, accepted: AttemptSummary, commit: str, workspace: Workspace
) -> DependencyResult:
    before, after = services.workspaces.tree_of(f"{commit}^"), services.workspaces.tree_of(commit)
    return DependencyResult(
        key=task.key,
        title=task.title,
        summary=accepted.worker_output,
        files=tuple(change.path for change in workspace.changes(before, after)),
        diff=workspace.diff(before, after),
    )
