"""The checks gate: verification commands and what their outcomes mean."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from orchestrator.domain.attempt import Check, CheckOutcome, CheckPhase
from orchestrator.domain.failure import Failure, ShownFailure
from orchestrator.domain.finding import Finding
from orchestrator.domain.text import counted
from orchestrator.domain.workspace import AbsentFile, CommandResult
from orchestrator.gates.finding import make_finding
from orchestrator.gates.reading import unread_failure

_NO_ANSWER = frozenset({126, 127})  # the shell could not execute or find the program

_NO_TEST = re.compile(
    r"^(?:Ran 0 tests|=* ?no tests ran|collected 0 items|testing: warning: no tests|(?:#|ℹ) tests 0$|running 0 tests)",
    re.MULTILINE,
)
_A_TEST = re.compile(
    r"\bRan [1-9]|^(?:(?:#|ℹ) tests [1-9]|running [1-9]|ok  \t(?!.*\[no tests))|\b[1-9]\d* passed\b", re.MULTILINE
)

MOST_FINDINGS = 50
"""Failures of one check that are a finding each."""


def outcome(result: CommandResult) -> CheckOutcome:
    """Exit 0 passed, another exit failed; killed, timed out, not startable or not found gave no answer."""
    if result.ended != "exited" or result.exit_code is None or result.exit_code in _NO_ANSWER:
        return "infrastructure"
    return "passed" if result.exit_code == 0 else "failed"


def judge_checks(
    checks: Iterable[Check], workspace_root: str = "", absent: Iterable[AbsentFile] = ()
) -> tuple[Finding, ...]:
    """One finding for each failure that a failed command showed, and one for those beyond the first MOST_FINDINGS; a
    file that no workspace has is named where the output does so."""
    missing = tuple(absent)
    return tuple(
        finding for check in checks if check.outcome == "failed" for finding in _failed(check, workspace_root, missing)
    )


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


def runs_no_test(output: str) -> bool:
    """Whether what a command printed is a test tool's that found nothing to run, and no other tool's that did."""
    return _NO_TEST.search(output) is not None and _A_TEST.search(output) is None


def is_untested(check: Check) -> bool:
    """Whether it passes and its test tool has found nothing to run."""
    return check.outcome == "passed" and runs_no_test(check.output)


def judge_untested(checks: Iterable[Check]) -> Iterator[Finding]:
    """One finding for each command that passes without having run a test, which blocks nothing: it is the plan's."""
    for check in checks:
        if is_untested(check):
            message = f"`{check.command}` passes and finds no test: nothing is tested by it."
            fix = "Name a command that finds the tests: pytest's functions, for example, need `python3 -m pytest -q`."
            yield make_finding("check", "no_tests", check.command, message, fix, severity="warning")


def without_answer(checks: Iterable[Check]) -> tuple[Check, ...]:
    """The commands that gave no answer: neither the worker's failure nor its success."""
    return tuple(check for check in checks if check.outcome == "infrastructure")


def passed_over(tree: str, checks: Iterable[Check]) -> Mapping[str, Check]:
    """The checks that passed over this very tree, or failed there as they did before, by command: the first of each,
    which is the one that ran. Neither a new failure nor a check that gave no answer is kept: both are tried again."""
    passed: dict[str, Check] = {}
    for check in checks:
        if check.tree == tree and (check.outcome == "passed" or check.as_before):
            passed.setdefault(check.command, check)
    return passed


def reused(check: Check, *, check_id: str, phase: CheckPhase, pass_id: str, at: datetime) -> Check:
    """What a new pass records of a check that passed before, over the same tree: its result, and where it ran."""
    ran = check.reused_from or check.id
    told = replace(check, id=check_id, phase=phase, pass_id=pass_id)
    return replace(told, started_at=at, duration_ms=0.0, reused_from=ran)


def failure_line(failure: Failure, most: int = 300) -> str:
    """`tests/test_x.py::test_y: AssertionError: ...`: what fails and how, in one line; the command where neither test
    nor place is told."""
    test = failure.test
    module = failure.locus.removesuffix(".py").replace("/", ".")
    place = "" if test.startswith((failure.locus, f"{module}.")) else failure.locus
    what = " ".join(filter(None, (place, test))) or f"`{failure.command}`"
    text = f"{what}: {failure.signature or 'failed'}"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _failed(check: Check, workspace_root: str, absent: tuple[AbsentFile, ...]) -> Iterator[Finding]:
    shown = check.failures or (unread_failure(check.command, check.exit_code, check.output, workspace_root),)
    named = tuple(missing for missing in absent if _named_in(check.output, missing))
    for number, one in enumerate(shown[:MOST_FINDINGS]):
        told = [missing for missing in named if _named_in(one.excerpt, missing)] or (named if number == 0 else ())
        yield _of_failure(check, one, "".join(f" {missing}" for missing in told))
    if rest := shown[MOST_FINDINGS:]:
        yield _of_rest(check, rest)


def _of_failure(check: Check, shown: ShownFailure, named: str) -> Finding:
    failure = shown.failure
    read = failure.test_name or failure.locus or failure.package
    message = failure_line(failure) if read else f"`{check.command}` exited with {check.exit_code}."
    return Finding(
        code="check_failed",
        severity="error",
        message=f"{message}{named}",
        source="check",
        locus=failure.locus or failure.test_name or failure.package or check.command,
        required_fix=f"Make `{check.command}` exit with 0.",
        fingerprint=failure.fingerprint,
        evidence=shown.excerpt,
        count=shown.count,
    )


def _of_rest(check: Check, rest: Sequence[ShownFailure]) -> Finding:
    """One finding for many failures: it is another one as soon as one of them is."""
    told = "\n".join(sorted(f"{one.failure.fingerprint} x{one.count}" for one in rest))
    digest = hashlib.sha256(told.encode()).hexdigest()[:16]
    return Finding(
        code="check_failed",
        severity="error",
        message=f"`{check.command}` showed {counted(len(rest), 'more failure')}.",
        source="check",
        locus=check.command,
        required_fix=f"Make `{check.command}` exit with 0.",
        fingerprint=Failure.of(check.command, signature=f"further failures {digest}").fingerprint,
        count=sum(one.count for one in rest),
    )


def _named_in(output: str, missing: AbsentFile) -> bool:
    """Whether the file is named as an import or its error has it: without its suffix, and as a word of its own."""
    stem = missing.path.rpartition("/")[2].partition(".")[0]
    return bool(stem) and re.search(rf"(?<![\w-]){re.escape(stem)}(?![\w-])", output) is not None
