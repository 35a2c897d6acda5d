"""The checks gate: verification commands and what their outcomes mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Literal

from orchestrator.domain.attempt import Check, CheckPhase
from orchestrator.domain.finding import Finding
from orchestrator.domain.workspace import AbsentFile, CommandResult
from orchestrator.gates.finding import make_finding

_NO_ANSWER = frozenset({126, 127})  # the shell could not execute or find the program
_EVIDENCE_CHARS = 2_000


def outcome(result: CommandResult) -> Literal["passed", "failed", "infrastructure"]:
    """Exit 0 passed, another exit failed; killed, timed out, not startable or not found gave no answer."""
    if result.ended != "exited" or result.exit_code is None or result.exit_code in _NO_ANSWER:
        return "infrastructure"
    return "passed" if result.exit_code == 0 else "failed"


def judge_checks(
    checks: Iterable[Check], workspace_root: str = "", absent: Iterable[AbsentFile] = ()
) -> tuple[Finding, ...]:
    """One finding for each failed command, with the end of its output as evidence; a file that no workspace has is
    named where the output does so."""
    missing = tuple(absent)
    return tuple(_failed(check, workspace_root, missing) for check in checks if check.outcome == "failed")


def judge_unanswered(checks: Iterable[Check]) -> tuple[Finding, ...]:
    """One finding for each command that gave no answer over a merge: what is delivered must be known to pass."""
    return tuple(
        make_finding(
            "check",
            "check_unanswered",
            check.command,
            f"`{check.command}` gave no answer over the merged tree.",
            f"Make `{check.command}` end by itself with 0.",
        )
        for check in without_answer(checks)
    )


def without_answer(checks: Iterable[Check]) -> tuple[Check, ...]:
    """The commands that gave no answer: neither the worker's failure nor its success."""
    return tuple(check for check in checks if check.outcome == "infrastructure")


def passed_over(tree: str, checks: Iterable[Check]) -> Mapping[str, Check]:
    """The checks that passed over this very tree, by command: the first of each, which is the one that ran. Neither a
    failure nor a check that gave no answer is kept: both are tried again."""
    passed: dict[str, Check] = {}
    for check in checks:
        if check.tree == tree and check.outcome == "passed":
            passed.setdefault(check.command, check)
    return passed


def reused(check: Check, *, check_id: str, phase: CheckPhase, pass_id: str, at: datetime) -> Check:
    """What a new pass records of a check that passed before, over the same tree: its result, and where it ran."""
    ran = check.reused_from or check.id
    told = replace(check, id=check_id, phase=phase, pass_id=pass_id)
    return replace(told, started_at=at, duration_ms=0.0, reused_from=ran)


def _failed(check: Check, workspace_root: str, absent: tuple[AbsentFile, ...]) -> Finding:
    tail = check.output[-_EVIDENCE_CHARS:]
    named = "".join(f" {missing}" for missing in absent if _named_in(check.output, missing))
    return make_finding(
        "check",
        "check_failed",
        check.command,
        f"`{check.command}` exited with {check.exit_code}.{named}",
        f"Make `{check.command}` exit with 0.",
        symptom=f"{check.exit_code} {tail}",
        workspace_root=workspace_root,
        evidence=tail,
    )


def _named_in(output: str, missing: AbsentFile) -> bool:
    """Whether the file is named as an import or its error has it: without its suffix, and as a word of its own."""
    stem = missing.path.rpartition("/")[2].partition(".")[0]
    return bool(stem) and re.search(rf"(?<![\w-]){re.escape(stem)}(?![\w-])", output) is not None
