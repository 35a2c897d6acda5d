"""Accepted work becomes one commit on the run's head, without moving a ref before the graph says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.domain.attempt import AttemptResult
from orchestrator.domain.errors import GraphError, OrchestrateError
from orchestrator.domain.finding import Finding
from orchestrator.domain.plan import Plan
from orchestrator.domain.run import Claim
from orchestrator.engine.attempt.result import Merged
from orchestrator.engine.attempt.resume import Start
from orchestrator.engine.attempt.verification import VerificationResult, run_checks
from orchestrator.engine.services import Services
from orchestrator.gates.checks import judge_checks, judge_unanswered
from orchestrator.gates.merge import judge_conflicts

_MOST_TRIES = 20  # each time another task was merged in between


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The conclusion that was written, or the findings that stood against the merge. `error` is why the branch does
    not follow the graph yet; the next start makes it."""

    conclusion: AttemptResult | None = None
    findings: tuple[Finding, ...] = ()
    error: OrchestrateError | None = None


def merge_attempt(
    services: Services,
    plan: Plan,
    claim: Claim,
    start: Start,
    passed: VerificationResult,
    commands: tuple[str, ...],
    conclusion_for: Callable[[Merged], AttemptResult],
) -> MergeResult:
    """Merge, check the merge where it differs from what was checked, conclude; again when the head moved meanwhile."""
    for number in range(1, _MOST_TRIES + 1):
        run = services.reader.run(claim.run_id)
        merge = services.workspaces.merge(
            head=run.head_commit,
            base=start.base,
            tree=passed.tree,
            message=f"{claim.task.title}\n\n{plan.goal}",
            trailers={
                "Orchestrate-Run": claim.run_id,
                "Orchestrate-Task": claim.task.id,
                "Orchestrate-Attempt": claim.attempt_id,
            },
        )
        if merge.commit is None:
            return MergeResult(findings=judge_conflicts(merge.conflicts or (merge.detail,)))
        findings = _check_merge(services, plan, claim, merge.commit, passed, commands, number)
        if findings:
            return MergeResult(findings=findings)
        conclusion = conclusion_for(Merged(merge.commit, run.head_commit))
        if services.writer.conclude(claim, conclusion):
            return MergeResult(conclusion, error=_delivered(services, run.branch, merge.commit))
    raise GraphError(
        f"The run's head moved {_MOST_TRIES} times while {claim.task.key} was merged.",
        next_step="Run `orchestrate execute --resume`.",
    )


def _delivered(services: Services, branch: str, commit: str) -> OrchestrateError | None:
    """The work is accepted and in the graph; a branch that cannot follow halts the run, it does not undo that."""
    try:
        services.workspaces.deliver(branch, commit)
    except OrchestrateError as error:
        return error
    return None


def _check_merge(
    services: Services,
    plan: Plan,
    claim: Claim,
    commit: str,
    passed: VerificationResult,
    commands: tuple[str, ...],
    number: int,
) -> tuple[Finding, ...]:
    """The plan's full verification over the merged tree, after the commands that every attempt must pass, unless that
    is the very tree that they were run over."""
    known = commands if services.workspaces.tree_of(commit) == passed.tree else ()
    commands = tuple(command for command in (*commands, *plan.full_verification) if command not in known)
    if not commands:
        return ()
    name = f"{claim.attempt_id}:merge{number}"
    workspace = services.workspaces.open(name, commit, head=commit)
    try:
        checks = run_checks(services, claim, workspace, commands, name)
    finally:
        workspace.close()
    return (*judge_checks(checks, workspace.shown_root), *judge_unanswered(checks))
