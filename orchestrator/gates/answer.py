"""What one run of a check came to: whether it passed, what it showed, and its output as it is kept."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.ansi import plain
from orchestrator.domain.attempt import CheckOutcome
from orchestrator.domain.failure import ShownFailure, TestsSeen
from orchestrator.domain.workspace import CommandResult
from orchestrator.gates.checks import outcome
from orchestrator.gates.decision_file import is_decision_command, judge_decision, shown_by
from orchestrator.gates.reading import read_check


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One run of a check. `infrastructure` gave no answer."""

    outcome: CheckOutcome
    output: str
    failures: tuple[ShownFailure, ...] = ()
    tests: TestsSeen | None = None


def read_answer(command: str, check_id: str, result: CommandResult, root: str) -> Answer:
    """What a check's command answered; `root` is the absolute path of the workspace, as the command saw it."""
    output, ended = plain(result.output), outcome(result)
    if ended == "infrastructure":
        told = f"\n[{result.ended}: {result.detail}]" if result.ended != "exited" else ""
        return Answer(outcome=ended, output=f"{output}{told}")
    if is_decision_command(command):
        return _decided(command, check_id, result, output)
    read = read_check(command, result.exit_code, output, root, result.reports)
    failures = read.failures if ended == "failed" else ()
    return Answer(outcome=ended, output=output, failures=failures, tests=read.tests)


def _decided(command: str, check_id: str, result: CommandResult, output: str) -> Answer:
    judged = judge_decision(check_id, result.exit_code, output, result.reports)
    told = "\n".join((f"[decision: {judged.said}]", *filter(None, (judged.detail, *judged.reasons))))
    kept = f"{output.rstrip()}\n{told}".lstrip()
    if judged.said == "nothing":
        return Answer(outcome="infrastructure", output=kept)
    if judged.said == "complete":
        return Answer(outcome="passed", output=kept)
    return Answer(outcome="failed", output=kept, failures=shown_by(command, judged))
