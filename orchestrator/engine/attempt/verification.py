"""One check pass: all deterministic gates over a fresh checkout of one snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from orchestrator.domain.attempt import Check, CheckPhase, VerificationResult
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.errors import ToolError
from orchestrator.domain.finding import Finding
from orchestrator.domain.plan import Plan
from orchestrator.domain.ports import Workspace
from orchestrator.domain.progress import CheckFinished, CheckStarted
from orchestrator.domain.run import Claim
from orchestrator.engine.attempt.checked_work import CheckedWork
from orchestrator.engine.attempt.command_check import AskedCheck, run_check, side_by_side
from orchestrator.engine.attempt.record import Deadlines
from orchestrator.engine.attempt.result import AttemptEnd, AttemptEnded
from orchestrator.engine.attempt.resume import Start, Work
from orchestrator.engine.services import Services
from orchestrator.gates.baseline import blamed, fails_as_before, judge_baseline
from orchestrator.gates.checks import is_untested, judge_checks, judge_untested, passed_over, reused, without_answer
from orchestrator.gates.confirm import judge_flaky
from orchestrator.gates.finding import summed_up
from orchestrator.gates.scope import judge_effect, judge_outputs, judge_scope, judge_size, nested_repository
from orchestrator.gates.unreadable import judge_git_directories, judge_readable, judge_secrets


def verify(
    services: Services,
    plan: Plan,
    claim: Claim,
    start: Start,
    work: Work,
    checked: CheckedWork,
    baseline: Baseline,
    checkout: Workspace,
    deadlines: Deadlines,
) -> VerificationResult:
    """The gates over the work: scope, protected files, size, declared outputs, then the verification commands. Raises
    AttemptEnded when they find something that blocks, or cannot tell."""
    cut_off = start.submitted.checks if start.submitted else ()  # of one that was cut off after its checks
    known = _with_tests(services, (check for check in (*cut_off, *start.checked) if check.phase != "review"))
    checks = run_checks(
        services,
        claim,
        checkout,
        plan.commands_of(claim.task),
        deadlines,
        phase="verification",
        pass_id=_pass_id(claim),
        tree=checked.tree,
        baseline=baseline,
        known=known,
    )
    verified = VerificationResult(
        id=_pass_id(claim),
        tree=work.tree,
        changes=checked.changes,
        checks=checks,
        findings=(
            *_judge_changes(services, claim, work, checked, checkout),
            *_judged(services, claim, checks, baseline, checkout),
        ),
        unanswered=without_answer(checks),
    )
    _end_unless_clean(services, verified)
    return verified


def _judge_changes(
    services: Services, claim: Claim, work: Work, checked: CheckedWork, checkout: Workspace
) -> tuple[Finding, ...]:
    task, changes, workspace = claim.task, checked.changes, services.settings.workspace
    found = (
        *judge_scope(changes, work.allowed_paths),
        *judge_readable(changes, task.files_written, workspace.max_file_mb * 1_000_000),
        *judge_secrets(services.workspaces.secrets_in(changes)),
        *judge_git_directories(changes),
        *work.findings,
        *checked.findings,
        *judge_size(changes, task.max_changed_files, task.max_changed_lines),
        *judge_effect(changes, task.files_written),
        *judge_outputs(task.files_written, _present(checkout, task.files_written)),
    )
    return tuple(summed_up(found))


def _judged(
    services: Services, claim: Claim, checks: tuple[Check, ...], baseline: Baseline, checkout: Workspace
) -> tuple[Finding, ...]:
    held = tuple(blamed(checks, baseline))
    failed = any(check.outcome == "failed" for check in held)
    absent = services.workspaces.absent_files() if failed else ()
    known = judge_baseline(checks, baseline, claim.task.files_written)
    return (*judge_checks(held, checkout.shown_root, absent), *known, *judge_flaky(checks), *judge_untested(checks))


def _end_unless_clean(services: Services, verified: VerificationResult) -> None:
    if services.cancelled.is_set():
        raise AttemptEnded(AttemptEnd.interrupted(services.cancelled.reason, verified=verified))
    if verified.blocking:
        raise AttemptEnded(AttemptEnd.gate_failed(verified))
    if verified.unanswered:
        unanswered = verified.unanswered[0]
        detail = f"`{unanswered.command}` gave no answer. {unanswered.output[-500:]}"
        raise AttemptEnded(AttemptEnd.failed("check_infrastructure", detail, verified=verified))


def without_snapshot(claim: Claim, tree: str, error: ToolError) -> VerificationResult:
    """The check pass of a workspace that no snapshot can be taken of; `tree` is the last one."""
    return VerificationResult(id=_pass_id(claim), tree=tree, findings=(nested_repository(str(error)),))


def run_checks(
    services: Services,
    claim: Claim,
    workspace: Workspace,
    commands: tuple[str, ...],
    deadlines: Deadlines,
    *,
    phase: CheckPhase,
    pass_id: str,
    tree: str,
    baseline: Baseline | None = None,
    known: Iterable[Check] = (),
) -> tuple[Check, ...]:
    """Run and record the verification commands over `tree`, as many at once as the settings say, each compared with the
    `baseline` and recorded when it has ended (a baseline's own are not this attempt's); one without an answer is run
    once more, one of the `known` that passed over this very tree is not run again. Raises AttemptEnded between two of
    them when everything is cut short, and at a deadline of attempt, task or run: what that cuts says nothing."""
    passed, wanted = passed_over(tree, known), tuple(dict.fromkeys(commands))

    def check_of(number: int, command: str) -> Check:
        asked = AskedCheck(id=f"{pass_id}:check{number}", command=command, phase=phase, pass_id=pass_id, tree=tree)
        if command in passed:
            at = services.clock.now()
            check = reused(passed[command], check_id=asked.id, phase=phase, pass_id=pass_id, at=at)
        else:
            end_at_deadline(services, deadlines)
            tell_check_start(services, claim, command, phase=phase, number=number, total=len(wanted))
            with idle.one() as checkout:
                base = baseline.check_of(command) if baseline else None
                check = run_check(services, checkout, asked, base, deadlines)
        recorded = _recorded(services, claim, check, baseline)
        if check.outcome == "infrastructure":
            end_at_deadline(services, deadlines)
        return recorded

    at_once = min(services.settings.checks.parallel, len(set(wanted) - passed.keys()))
    with side_by_side(workspace, at_once) as idle:
        return idle.in_order(check_of, wanted)


def _recorded(services: Services, claim: Claim, check: Check, baseline: Baseline | None) -> Check:
    """The check compared with the baseline: remembered, recorded and told."""
    compared = replace(
        check, as_before=baseline is not None and fails_as_before(check, baseline.check_of(check.command))
    )
    services.workspaces.measured.keep(compared)
    if compared.phase != "baseline":
        services.writer.record_checks(claim, (compared,))
    tell_check(services, claim, compared)
    return compared


def tell_check_start(
    services: Services, claim: Claim, command: str, *, phase: CheckPhase, number: int, total: int
) -> None:
    """Tell whoever watches that a command begins."""
    services.listener(
        CheckStarted(
            at=services.clock.now(),
            task=claim.task.key,
            attempt=claim.number,
            command=command,
            phase=phase,
            number=number,
            total=total,
        )
    )


def tell_check(services: Services, claim: Claim, check: Check) -> None:
    """Tell whoever watches how it ended."""
    services.listener(
        CheckFinished(
            at=services.clock.now(),
            task=claim.task.key,
            attempt=claim.number,
            command=check.command,
            phase=check.phase,
            outcome=check.outcome,
            exit_code=check.exit_code,
            duration_ms=check.duration_ms,
            untested=is_untested(check),
        )
    )


def end_at_deadline(services: Services, deadlines: Deadlines) -> None:
    """Raise AttemptEnded where a deadline of attempt, task or run is reached, or everything is cut short."""
    if services.cancelled.is_set():
        raise AttemptEnded(AttemptEnd.interrupted(services.cancelled.reason))
    stop = deadlines.stop(services.clock.now())
    if stop is not None:
        raise AttemptEnded(AttemptEnd.of_stop(stop))


def _with_tests(services: Services, checks: Iterable[Check]) -> Iterator[Check]:
    """The checks as they were when they ran: the graph has of their tests the numbers alone."""
    for check in checks:
        kept = services.workspaces.measured.of(check.tree or "", check.command)
        yield replace(check, tests=kept.tests) if kept else check


def _pass_id(claim: Claim) -> str:
    """The id of an attempt's check pass."""
    return f"{claim.attempt_id}:pass1"


def _present(workspace: Workspace, declared: tuple[str, ...]) -> frozenset[str]:
    """Which of the declared paths exist in the checkout."""
    return frozenset(path for path in declared if workspace.exists(path))
