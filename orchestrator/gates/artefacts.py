"""What became of a task, as documents for programs: the facts that the graph has, in files that need no graph.

docs/convergence.md has the schema. Everything is drawn from recorded attempts, so a document that a dying process has
not written is written by the next one, and says the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.domain.attempt import AttemptSummary, Decision
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.finding import Finding
from orchestrator.domain.task import Task
from orchestrator.domain.workspace import FileChange

SCHEMA = 1
_MOST = 1_000  # paths, findings


def task_artefacts(
    task: Task, attempts: Sequence[AttemptSummary], changes: Sequence[FileChange], baseline: Baseline | None
) -> Mapping[str, Mapping[str, Any]]:
    """The documents by file name. `attempts` are all of the task's, oldest first, `changes` those of the last one's
    whole work. Without a baseline there is no document of it, so that an earlier one stays."""
    told = [(attempt, attempt.decision) for attempt in attempts if attempt.decision]
    last, decision = told[-1] if told else (attempts[-1], None)
    documents: dict[str, dict[str, Any]] = {
        "current_failures.json": {"failures": [_failure(finding) for finding in _blocking(last.findings)]},
        "failure_fingerprint_history.json": {"passes": [_pass(*each) for each in told]},
        "completion_reasons.json": completion_reasons(decision, last.findings),
        "scope.json": _scope(task, last, changes),
        "stage_transitions.json": {"transitions": [_moved(*each) for each in told if _moves(*each)]},
    }
    if baseline is not None:
        documents["baseline_failures.json"] = _before(baseline)
    about = {"schema": SCHEMA, "task": task.id, "attempt": last.id}
    return {name: {**about, **document} for name, document in documents.items()}


def completion_reasons(decision: Decision | None, findings: Sequence[Finding]) -> dict[str, Any]:
    """Why an attempt was complete or not: as the document has it, and errorContextJson."""
    blocking = _blocking(findings)
    return {
        "decision": decision.decision if decision else None,
        "reasons": list(decision.reasons) if decision else [],
        "new_failures": sorted({finding.fingerprint for finding in blocking if _of_a_check(finding)}),
        "scope_violation": any(finding.source == "scope" for finding in blocking),
        "fingerprints": list(decision.fingerprints) if decision else [],
        "stage": decision.stage if decision else None,
        "stall_count": decision.stall_count if decision else None,
    }


def _before(baseline: Baseline) -> dict[str, Any]:
    return {
        "base": baseline.commit,
        "tests_collected": baseline.tests_collected,
        "checks": [{"command": check.command, "outcome": check.outcome} for check in baseline.checks],
        "failures": [
            {
                "fingerprint": shown.failure.fingerprint,
                "count": shown.count,
                "command": check.command,
                "package": shown.failure.package,
                "test": shown.failure.test_name,
                "locus": shown.failure.locus,
                "signature": shown.failure.signature,
                "flaky": shown.flaky,
            }
            for check in baseline.checks
            for shown in check.failures
        ][:_MOST],
    }


def _pass(attempt: AttemptSummary, decision: Decision) -> dict[str, Any]:
    """One row of the history: what one check pass found, and where the task stood behind it."""
    counts = decision.counts or (1,) * len(decision.fingerprints)
    return {
        "pass": decision.pass_id,
        "attempt": attempt.id,
        "at": decision.at.isoformat(),
        "status": attempt.status,
        "set": decision.failure_set_hash,
        "failures": [
            {"fingerprint": fingerprint, "count": count}
            for fingerprint, count in zip(decision.fingerprints, counts, strict=False)
        ],
        "diff": decision.diff_hash,
        "trend": decision.trend,
        "stage": decision.stage,
        "stall_count": decision.stall_count,
    }


def _scope(task: Task, attempt: AttemptSummary, changes: Sequence[FileChange]) -> dict[str, Any]:
    return {
        "base": attempt.base_commit,
        "tree": attempt.tree_after,
        "allowed_paths": list(attempt.allowed_paths),
        "max_changed_files": task.max_changed_files,
        "max_changed_lines": task.max_changed_lines,
        "changed_files": len(changes),
        "changed_lines": sum(change.added + change.removed for change in changes),
        "changes": [
            {"path": each.path, "status": each.status, "added": each.added, "removed": each.removed}
            for each in changes[:_MOST]
        ],
        "violations": [_failure(finding) for finding in attempt.findings if finding.source in ("scope", "diff_budget")][
            :_MOST
        ],
    }


def _moves(attempt: AttemptSummary, decision: Decision) -> bool:
    return attempt.stage != decision.stage


def _moved(attempt: AttemptSummary, decision: Decision) -> dict[str, Any]:
    return {
        "attempt": attempt.id,
        "pass": decision.pass_id,
        "at": decision.at.isoformat(),
        "from": attempt.stage,
        "to": decision.stage,
        "trend": decision.trend,
    }


def _failure(finding: Finding) -> dict[str, Any]:
    return {
        "fingerprint": finding.fingerprint,
        "count": finding.count,
        "code": finding.code,
        "severity": finding.severity,
        "source": finding.source,
        "locus": finding.locus,
        "message": finding.message,
    }


def _blocking(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.blocking][:_MOST]


def _of_a_check(finding: Finding) -> bool:
    return finding.source == "check" and finding.code != "merge_conflict"
