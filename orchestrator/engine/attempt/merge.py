"""Accepted work becomes one commit on the run's head, without moving a ref before the graph says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

from orchestrator.domain.attempt import VerificationResult
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.errors import GraphError
from orchestrator.domain.finding import Finding
from orchestrator.domain.plan import Plan
from orchestrator.domain.ports import Workspace
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim
from orchestrator.domain.text import one_paragraph
from orchestrator.domain.workspace import MergeCommit
from orchestrator.engine.attempt.baseline import measure_baseline, with_failed
from orchestrator.engine.attempt.record import AttemptRecord
from orchestrator.engine.attempt.result import AttemptEnd, AttemptEnded
from orchestrator.engine.attempt.resume import Start
from orchestrator.engine.attempt.review import ReviewedWork, Reviewing, ask_verifier
from orchestrator.engine.attempt.verification import run_checks
from orchestrator.engine.services import Services
from orchestrator.gates.baseline import blamed, judge_baseline
from orchestrator.gates.checks import judge_checks, judge_unanswered, judge_untested, passed_over
from orchestrator.gates.completion import decide_merge
from orchestrator.gates.confirm import judge_flaky
from orchestrator.gates.merge import judge_conflicts

_MOST_TRIES = 20  # each time another task was merged in between


def merge(
    asking: Reviewing,
    start: Start,
    baseline: Baseline,
    verified: VerificationResult,
    review: Review,
    checkout: Workspace,
    record: AttemptRecord,
) -> None:
    """Merge, check the merge where it differs from what was checked, ask QC again where others have changed a file that
    the work has changed too, close the attempt as accepted; again when the head moved meanwhile. Raises AttemptEnded
    for what stands against the merge. Once the work is accepted and in the graph, a branch that cannot follow halts the
    run and does not undo that: the next start makes the branch follow. What the checks of the accepted trees left in
    build caches is kept."""
    services, plan, claim, deadlines = asking.services, asking.plan, asking.claim, asking.deadlines
    for number in range(1, _MOST_TRIES + 1):
        run = services.reader.run(claim.run_id)
        merged = _merge_commit(services, plan, claim, start, verified.tree, run.head_commit)
        if merged.commit is None:
            conflicts = judge_conflicts(merged.conflicts or (merged.detail,))
            raise AttemptEnded(AttemptEnd.gate_failed(_with(verified, conflicts), review))
        if run.head_commit != baseline.commit:  # what others have fixed meanwhile is not to be broken again
            baseline = measure_baseline(services, plan, claim, run.head_commit, deadlines)
        both = _changed_by_both(services, verified, merged.commit)
        with _checked(asking, start, merged.commit, baseline, verified, number, both) as (found, workspaces):
            if found.blocking:
                raise AttemptEnded(AttemptEnd.gate_failed(found, review))
            if both:
                review = _asked_again(asking, merged.commit, run.head_commit, found, workspaces[0], number)
            end = AttemptEnd.reviewed(found, review)
            if record.close(end, commit=merged.commit, head_before=run.head_commit):
                services.workspaces.deliver(run.branch, merged.commit)
                for workspace in (checkout, *workspaces):
                    workspace.keep_caches()
                return
    raise GraphError(
        f"The run's head moved {_MOST_TRIES} times while {claim.task.key} was merged.",
        next_step="Run `orchestrate execute --resume`.",
    )


def _with(verified: VerificationResult, findings: tuple[Finding, ...]) -> VerificationResult:
    return replace(verified, findings=tuple(dict.fromkeys((*verified.findings, *findings))))


def _merge_commit(services: Services, plan: Plan, claim: Claim, start: Start, tree: str, head: str) -> MergeCommit:
    return services.workspaces.merge(
        head=head,
        base=start.base,
        tree=tree,
        message=f"{one_paragraph(claim.task.title, 200)}\n\n{one_paragraph(plan.goal, 5_000)}",
        trailers={
            "Orchestrate-Run": claim.run_id,
            "Orchestrate-Task": claim.task.id,
            "Orchestrate-Attempt": claim.attempt_id,
        },
    )


def _changed_by_both(services: Services, verified: VerificationResult, commit: str) -> bool:
    """Whether a file that the work has changed is another one in the merge than QC has seen."""
    merged = services.workspaces.changes(verified.tree, services.workspaces.tree_of(commit))
    return not {change.path for change in verified.changes}.isdisjoint(change.path for change in merged)


def _asked_again(
    asking: Reviewing, commit: str, head: str, found: VerificationResult, checkout: Workspace, number: int
) -> Review:
    tree_of, name = asking.services.workspaces.tree_of, _named(asking.claim, number)
    tree, diff = tree_of(commit), checkout.diff(tree_of(head), tree_of(commit))
    return ask_verifier(asking, ReviewedWork(tree=tree, diff=diff, checkout=checkout, verified=found, name=name))


def _named(claim: Claim, number: int) -> str:
    """What belongs to an attempt's merge with this number begins so."""
    return f"{claim.attempt_id}:merge{number}"


@contextmanager
def _checked(
    asking: Reviewing,
    start: Start,
    commit: str,
    baseline: Baseline,
    verified: VerificationResult,
    number: int,
    both: bool,
) -> Iterator[tuple[VerificationResult, tuple[Workspace, ...]]]:
    """The plan's full verification over the merged tree, after the commands that every attempt must pass; none that
    passed over this very tree is run again. What was verified, with these checks and what they found, and the
    workspace, if one was needed, as it is where QC has to see what `both` have changed."""
    services, plan, claim, deadlines = asking.services, asking.plan, asking.claim, asking.deadlines
    tree = services.workspaces.tree_of(commit)
    passed = passed_over(tree, verified.checks)
    commands = (*plan.commands_of(claim.task), *plan.full_verification)
    commands = tuple(command for command in dict.fromkeys(commands) if command not in passed)
    if not (commands or both):
        yield verified, ()
        return
    name = _named(claim, number)
    with closing(services.workspaces.open(name, commit, head=commit, plan_id=plan.id)) as workspace:
        checks = run_checks(
            services, claim, workspace, commands, deadlines, phase="merge", pass_id=name, tree=tree, baseline=baseline
        )
        baseline = with_failed(services, claim, baseline, checks, deadlines)
        findings = (
            *judge_checks(blamed(checks, baseline), workspace.shown_root),
            *judge_baseline(checks, baseline, claim.task.files_written),
            *judge_flaky(checks),
            *judge_untested(checks),
            *judge_unanswered(checks),
        )
        decided = decide_merge(
            findings, pass_id=name, tree=tree, converged=start.standing.convergence, at=services.clock.now()
        )
        found = replace(_with(verified, findings), checks=(*verified.checks, *checks))
        yield (replace(found, merge=decided) if commands else found), (workspace,)
