"""One check pass: all deterministic gates over one snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.domain.attempt import Check
from orchestrator.domain.errors import ToolError
from orchestrator.domain.finding import Finding
from orchestrator.domain.ports import Workspace
from orchestrator.domain.progress import CheckFinished, ChecksStarted
from orchestrator.domain.run import Claim
from orchestrator.domain.workspace import CommandResult, FileChange
from orchestrator.engine.loop.conversation import Subject
from orchestrator.engine.services import Services
from orchestrator.gates.checks import judge_checks, outcome, without_answer
from orchestrator.gates.scope import judge_effect, judge_outputs, judge_scope, judge_size, nested_repository


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """What the gates saw and said. `unanswered` are checks that gave no answer, twice."""

    id: str
    tree: str
    changes: tuple[FileChange, ...] = ()
    checks: tuple[Check, ...] = ()
    findings: tuple[Finding, ...] = ()
    unanswered: tuple[Check, ...] = ()

    @property
    def blocking(self) -> bool:
        """Whether QC need not be asked."""
        return any(finding.blocking for finding in self.findings)


def check_attempt(
    services: Services,
    claim: Claim,
    workspace: Workspace,
    *,
    tree: str,
    base_tree: str,
    allowed_paths: tuple[str, ...],
    commands: tuple[str, ...],
) -> VerificationResult:
    """The gates over `tree`, of which `workspace` is a fresh checkout: scope, size, declared outputs, then the
    verification commands."""
    pass_id = check_workspace(claim.attempt_id)
    changes = workspace.changes(base_tree, tree)
    task = claim.task
    findings = (
        *judge_scope(changes, allowed_paths),
        *judge_size(changes, task.max_changed_files, task.max_changed_lines),
        *judge_effect(changes, task.files_written),
        *judge_outputs(task.files_written, _present(workspace, task.files_written)),
    )
    checks = run_checks(services, claim, workspace, commands, pass_id)
    return VerificationResult(
        pass_id, tree, changes, checks, (*findings, *judge_checks(checks, workspace.shown_root)), without_answer(checks)
    )


def without_snapshot(attempt_id: str, tree: str, error: ToolError) -> VerificationResult:
    """The check pass of a workspace that no snapshot can be taken of; `tree` is the last one."""
    return VerificationResult(check_workspace(attempt_id), tree, findings=(nested_repository(str(error)),))


def check_workspace(attempt_id: str) -> str:
    """The id of an attempt's check pass, and the name of the workspace it is made in: a checkout of the snapshot, so
    that nothing counts which is not delivered, such as what the worker's commands left in ignored folders."""
    return f"{attempt_id}:pass1"


def run_checks(
    services: Services, claim: Claim, workspace: Workspace, commands: tuple[str, ...], pass_id: str
) -> tuple[Check, ...]:
    """Run and record the verification commands one after the other; one without an answer is run once more."""
    subject = Subject(claim.task.key, claim.number)
    services.listener(ChecksStarted(services.clock.now(), subject.task, subject.attempt, commands))
    checks = tuple(
        _run(services, workspace, command, f"{pass_id}:check{n}", pass_id)
        for n, command in enumerate(dict.fromkeys(commands), start=1)
    )
    for check in checks:
        services.listener(
            CheckFinished(
                services.clock.now(), subject.task, subject.attempt, check.command, check.outcome, check.exit_code,
                check.duration_ms,
            )
        )  # fmt: skip
    services.writer.record_checks(claim, checks)
    return checks


def _run(services: Services, workspace: Workspace, command: str, check_id: str, pass_id: str) -> Check:
    def once() -> CommandResult:
        return workspace.run(command, timeout_s=services.settings.checks.timeout_s)

    result = _again_without_answer(once)
    return Check(
        id=check_id,
        command=command,
        exit_code=result.exit_code,
        outcome=outcome(result),
        duration_ms=result.duration_ms,
        output=result.output + (f"\n[{result.ended}: {result.detail}]" if result.ended != "exited" else ""),
        started_at=result.started_at,
        phase="verification",
        pass_id=pass_id,
    )


def _again_without_answer(once: Callable[[], CommandResult]) -> CommandResult:
    result = once()
    return once() if outcome(result) == "infrastructure" else result


def _present(workspace: Workspace, declared: tuple[str, ...]) -> frozenset[str]:
    """Which of the declared paths exist in the checkout."""
    present = set()
    for path in declared:
        try:
            workspace.read(path)
            present.add(path)
        except ToolError:
            continue
    return frozenset(present)
