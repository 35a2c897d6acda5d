"""The checks gate: verification commands and what their outcomes mean (R4.16)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from orchestrator.domain.finding import Finding
from orchestrator.domain.ports import CommandResult
from orchestrator.domain.records import Check
from orchestrator.gates.fingerprint import fingerprint

_NO_ANSWER = frozenset({126, 127})  # the shell could not execute or find the program
_EVIDENCE_CHARS = 2_000


def outcome(result: CommandResult) -> Literal["passed", "failed", "infrastructure"]:
    """Exit 0 passed, another exit failed; killed, timed out, not startable or not found gave no answer (R4.16)."""
    if result.ended != "exited" or result.exit_code is None or result.exit_code in _NO_ANSWER:
        return "infrastructure"
    return "passed" if result.exit_code == 0 else "failed"


def judge_checks(checks: Iterable[Check], workspace_root: str = "") -> tuple[Finding, ...]:
    """One finding for each failed command, with the end of its output as evidence (F7)."""
    return tuple(_failed(check, workspace_root) for check in checks if check.outcome == "failed")


def without_answer(checks: Iterable[Check]) -> tuple[Check, ...]:
    """The commands that gave no answer: neither the worker's failure nor its success."""
    return tuple(check for check in checks if check.outcome == "infrastructure")


def _failed(check: Check, workspace_root: str) -> Finding:
    tail = check.output[-_EVIDENCE_CHARS:]
    symptom = f"{check.exit_code} {tail}"
    return Finding(
        code="check_failed",
        severity="error",
        message=f"`{check.command}` exited with {check.exit_code}.",
        source="check",
        locus=check.command,
        required_fix=f"Make `{check.command}` exit with 0.",
        fingerprint=fingerprint("check_failed", check.command, symptom, workspace_root=workspace_root),
        evidence=tail,
    )
