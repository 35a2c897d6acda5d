"""Accepted work becomes one commit on the run's head, without moving a ref before the graph says so (decision 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.domain.errors import GraphError, OrchestrateError
from orchestrator.domain.finding import Finding
from orchestrator.domain.records import Claim, Conclusion, Plan
from orchestrator.engine.checkpass import CheckPass, run_checks
from orchestrator.engine.concluding import Merged
from orchestrator.engine.parts import Parts
from orchestrator.engine.start import Start
from orchestrator.gates.checks import judge_checks, judge_unanswered
from orchestrator.gates.merge import judge_conflicts

_MOST_TRIES = 20  # each time another task was merged in between


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The conclusion that was written, or the findings that stood against the merge. `error` is why the branch does
    not follow the graph yet; the next start makes it."""

    conclusion: Conclusion | None = None
    findings: tuple[Finding, ...] = ()
    error: OrchestrateError | None = None


def accept(
    parts: Parts,
    plan: Plan,
    claim: Claim,
    start: Start,
    passed: CheckPass,
    commands: tuple[str, ...],
    conclusion_for: Callable[[Merged], Conclusion],
) -> Acceptance:
    """Merge, check the merge where it differs from what was checked, conclude; again when the head moved meanwhile."""
    for number in range(1, _MOST_TRIES + 1):
        run = parts.reader.run(claim.run_id)
        merge = parts.workspaces.merge(
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
            return Acceptance(findings=judge_conflicts(merge.conflicts or (merge.detail,)))
        findings = _check_merge(parts, plan, claim, merge.commit, passed, commands, number)
        if findings:
            return Acceptance(findings=findings)
        conclusion = conclusion_for(Merged(merge.commit, run.head_commit))
        if parts.writer.conclude(claim, conclusion):
            return Acceptance(conclusion, error=_delivered(parts, run.branch, merge.commit))
    raise GraphError(
        f"The run's head moved {_MOST_TRIES} times while {claim.task.key} was merged.",
        next_step="Run `orchestrate execute --resume`.",
    )


def _delivered(parts: Parts, branch: str, commit: str) -> OrchestrateError | None:
    """The work is accepted and in the graph; a branch that cannot follow halts the run, it does not undo that."""
    try:
        parts.workspaces.deliver(branch, commit)
    except OrchestrateError as error:
        return error
    return None


def _check_merge(
    parts: Parts, plan: Plan, claim: Claim, commit: str, passed: CheckPass, commands: tuple[str, ...], number: int
) -> tuple[Finding, ...]:
    """The plan's full verification over the merged tree, after the commands that every attempt must pass, unless that
    is the very tree that they were run over."""
    known = commands if parts.workspaces.tree_of(commit) == passed.tree else ()
    commands = tuple(command for command in (*commands, *plan.full_verification) if command not in known)
    if not commands:
        return ()
    name = f"{claim.attempt_id}:merge{number}"
    workspace = parts.workspaces.open(name, commit, head=commit)
    try:
        checks = run_checks(parts, claim, workspace, commands, name)
    finally:
        workspace.close()
    return (*judge_checks(checks, workspace.shown_root), *judge_unanswered(checks))
