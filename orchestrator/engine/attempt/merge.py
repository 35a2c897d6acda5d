"""Accepted work becomes one commit on the run's head, without moving a ref before the graph says so."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.domain.attempt import VerificationResult
from orchestrator.domain.errors import GraphError
from orchestrator.domain.plan import Plan
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim
from orchestrator.domain.workspace import MergeCommit
from orchestrator.engine.attempt.record import AttemptRecord
from orchestrator.engine.attempt.result import AttemptEnd, AttemptEnded
from orchestrator.engine.attempt.resume import Start
from orchestrator.engine.attempt.verification import run_checks
from orchestrator.engine.services import Services
from orchestrator.gates.checks import judge_checks, judge_unanswered, passed_over
from orchestrator.gates.merge import judge_conflicts

_MOST_TRIES = 20  # each time another task was merged in between


def merge(
    services: Services,
    plan: Plan,
    claim: Claim,
    start: Start,
    verified: VerificationResult,
    review: Review,
    record: AttemptRecord,
) -> None:
    """Merge, check the merge where it differs from what was checked, close the attempt as accepted; again when the head
    moved meanwhile. Raises AttemptEnded for what stands against the merge. Once the work is accepted and in the graph,
    a branch that cannot follow halts the run and does not undo that: the next start makes the branch follow."""
    for number in range(1, _MOST_TRIES + 1):
        run = services.reader.run(claim.run_id)
        merged = _merge_commit(services, plan, claim, start, verified.tree, run.head_commit)
        if merged.commit is None:
            conflicts = judge_conflicts(merged.conflicts or (merged.detail,))
            found = replace(verified, findings=(*verified.findings, *conflicts))
        else:
            found = _check(services, plan, claim, merged.commit, verified, number)
        if found.blocking or merged.commit is None:
            raise AttemptEnded(AttemptEnd.gate_failed(found, review))
        end = AttemptEnd.reviewed(verified, review)
        if record.close(end, commit=merged.commit, head_before=run.head_commit):
            services.workspaces.deliver(run.branch, merged.commit)
            return
    raise GraphError(
        f"The run's head moved {_MOST_TRIES} times while {claim.task.key} was merged.",
        next_step="Run `orchestrate execute --resume`.",
    )


def _merge_commit(services: Services, plan: Plan, claim: Claim, start: Start, tree: str, head: str) -> MergeCommit:
    return services.workspaces.merge(
        head=head,
        base=start.base,
        tree=tree,
        message=f"{claim.task.title}\n\n{plan.goal}",
        trailers={
            "Orchestrate-Run": claim.run_id,
            "Orchestrate-Task": claim.task.id,
            "Orchestrate-Attempt": claim.attempt_id,
        },
    )


def _check(
    services: Services, plan: Plan, claim: Claim, commit: str, verified: VerificationResult, number: int
) -> VerificationResult:
    """The plan's full verification over the merged tree, after the commands that every attempt must pass; none that
    passed over this very tree is run again. What was verified, with these checks and what they found."""
    tree = services.workspaces.tree_of(commit)
    passed = passed_over(tree, verified.checks)
    commands = (*plan.commands_of(claim.task), *plan.full_verification)
    commands = tuple(command for command in dict.fromkeys(commands) if command not in passed)
    if not commands:
        return verified
    name = f"{claim.attempt_id}:merge{number}"
    workspace = services.workspaces.open(name, commit, head=commit)
    try:
        checks = run_checks(services, claim, workspace, commands, pass_id=name, tree=tree)
    finally:
        workspace.close()
    findings = (*judge_checks(checks, workspace.shown_root), *judge_unanswered(checks))
    return replace(verified, checks=(*verified.checks, *checks), findings=(*verified.findings, *findings))
