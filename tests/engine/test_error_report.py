"""What the node of an attempt says about why it was not accepted, for each way in which one ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.domain.attempt import Check
from orchestrator.domain.errors import ModelUnavailableError, RunBoundError, WorkspaceError
from orchestrator.domain.finding import Finding
from orchestrator.domain.stop_reasons import next_step
from orchestrator.domain.verdict import Stop
from orchestrator.engine.attempt.result import AttemptEnd
from orchestrator.engine.loop.conversation import ConversationResult
from orchestrator.gates.end_report import TAIL_CHARS, error_report
from tests.engine.test_result import NOW, PASSED, REVIEW, concluded

KEYS = {
    "stopReason",
    "stopDetail",
    "qcFeedback",
    "issues",
    "requiredFixes",
    "failedChecks",
    "guard",
    "advice",
    "completion",
    "next",
}
CHECK = Check("c1", "make test", 2, "failed", 1.0, "one\ntwo\nERROR: three\n", NOW, "verification", "p1")
FLAW = Finding(
    code="check_failed",
    severity="error",
    message="`make test` exited with 2.",
    source="check",
    required_fix="Make `make test` exit with 0.",
)
STOP = Stop("same_error", "same_error", f"4 times. {next_step('same_error')}", 4, 4, evidence={"tool": "run_command"})
RUN_STOP = replace(STOP, guard="ledger", code="token_limit", message="Used up.", evidence={"level": "run"})
UNUSABLE = replace(REVIEW, passed=None, score=None, feedback="It is wrong.", findings=(replace(FLAW, message="Sum."),))


def conversation(reason: str, **more: Any) -> AttemptEnd:
    """The end of a worker's conversation."""
    return AttemptEnd.of_conversation(ConversationResult(reason=reason, **more))


ENDS: dict[str, tuple[AttemptEnd, list[str], list[str]]] = {
    "gate": (
        AttemptEnd.gate_failed(replace(PASSED, findings=(FLAW,), checks=(CHECK,))),
        [FLAW.message],
        [FLAW.required_fix],
    ),
    "review": (
        AttemptEnd.reviewed(PASSED, replace(REVIEW, passed=False, findings=(FLAW,))),
        [FLAW.message],
        [FLAW.required_fix],
    ),
    "review without findings": (
        AttemptEnd.reviewed(PASSED, replace(REVIEW, passed=False, feedback="No.")),
        ["No."],
        [next_step("review_failed")],
    ),
    "stop": (conversation("same_error", detail=STOP.message, stop=STOP), ["4 times."], [next_step("same_error")]),
    "run's bound": (
        conversation("token_limit", detail="Used up.", stop=RUN_STOP),
        ["Used up."],
        ["Raise it (--max-cost, --max-tokens, --deadline, or run.working_time_s in the settings) and continue with "
         "`orchestrate execute --resume`."],
    ),
    "gave up": (
        conversation("submitted", tool="give_up", arguments={"reason": "No library."}),
        ["No library."],
        [next_step("gave_up")],
    ),
    "Ctrl-C": (AttemptEnd.interrupted("Ctrl-C"), ["Ctrl-C"], [next_step("interrupted")]),
    "endpoint": (
        AttemptEnd.of_error(ModelUnavailableError("Nobody answers.", next_step="Start it.")),
        ["Nobody answers. Start it."],
        ["Start it."],
    ),
    "git": (AttemptEnd.of_error(WorkspaceError("git.")), ["git."], [next_step("workspace_error")]),
    "no review": (
        replace(AttemptEnd.failed("review_error", "No score.", verified=PASSED), review=UNUSABLE),
        ["No score.", "Sum."],
        [next_step("review_error"), FLAW.required_fix],
    ),
    "no answer of a check": (
        AttemptEnd.failed("check_infrastructure", "Killed.", verified=replace(PASSED, checks=(CHECK,))),
        ["Killed."],
        [next_step("check_infrastructure")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ENDS)
def test_every_end_but_acceptance_says_why_and_what_to_do(kind: str) -> None:
    """The same keys for each, its issues and fixes beside it as the node has them; a stop is an issue, its next step
    the fix."""
    end, issues, fixes = ENDS[kind]
    found = concluded(end)
    report = found.error_context
    assert set(report) == KEYS
    assert (report["stopReason"], report["stopDetail"]) == (end.stop_reason, end.stop_detail)
    assert (report["issues"], report["requiredFixes"]) == (issues, fixes)
    assert (found.issues, found.required_fixes) == (tuple(issues), tuple(fixes))
    assert report["advice"] and all(report["advice"])
    assert report["next"] and all(command.startswith("orchestrate ") for command in report["next"])
    assert report["qcFeedback"] == (end.review.feedback if end.review else None)


def test_an_accepted_attempt_has_no_error_and_keeps_its_warnings() -> None:
    """What QC let through is still on the node."""
    warned = replace(REVIEW, findings=(replace(FLAW, severity="warning"),))
    found = concluded(AttemptEnd.reviewed(PASSED, warned), "c1", "c0")
    assert (found.error_context, found.issues) == ({}, (FLAW.message,))


def test_what_the_guard_saw_is_told_with_where_it_began() -> None:
    """Name, code, figures and evidence of the guard that ended it; nothing where none did."""
    end, _, _ = ENDS["stop"]
    assert concluded(replace(end, first_seq=7)).error_context["guard"] == {
        "name": "same_error",
        "code": "same_error",
        "observed": 4,
        "limit": 4,
        "firstSeq": 7,
        "evidence": {"tool": "run_command"},
    }
    assert concluded(ENDS["gate"][0]).error_context["guard"] is None


def test_a_tasks_last_end_advises_for_the_task() -> None:
    """An attempt that nothing follows promises no further one."""
    end, _, _ = ENDS["gate"]
    report = concluded(end)
    assert report.diagnosis is not None
    assert report.error_context["advice"] == list(report.diagnosis.actions)
    assert "next attempt" not in " ".join(report.error_context["advice"])


def failed_checks(*checks: Check) -> list[dict[str, Any]]:
    """What a report has of these checks."""
    found: list[dict[str, Any]] = error_report(
        reason="gate_failed", detail="", issues=(), required_fixes=(), advice=(), commands=(), checks=checks
    )["failedChecks"]
    return found


def test_failed_checks_are_told_with_the_end_of_their_output() -> None:
    """Those that passed are not; what gave no answer is. A long output is cut between lines or words, never in one."""
    silent = replace(CHECK, id="c2", exit_code=None, outcome="infrastructure", output="")
    passed = replace(CHECK, id="c3", exit_code=0, outcome="passed")
    assert failed_checks(CHECK, silent, passed) == [
        {"command": "make test", "exitCode": 2, "tail": CHECK.output},
        {"command": "make test", "exitCode": None, "tail": ""},
    ]
    lines = "".join(f"line {number}\n" for number in range(1_000))
    (long,) = failed_checks(replace(CHECK, output=lines))
    assert len(long["tail"]) <= TAIL_CHARS and lines.endswith(long["tail"]) and long["tail"].startswith("line ")
    (words,) = failed_checks(replace(CHECK, output="secret " * 1_000))
    assert words["tail"].startswith("secret")
    (one,) = failed_checks(replace(CHECK, output="x" * 5_000))
    assert one["tail"] == ""


def test_an_error_that_ends_the_run_says_its_own_way_out() -> None:
    """Under the run's own bound the way out is a higher one, whatever the taxonomy advises for a task's."""
    end = AttemptEnd.interrupted("Used up.", halt=RunBoundError("Used up.", next_step="Raise it."))
    assert concluded(end).error_context["advice"] == ["Raise it."]


def test_what_is_next_can_be_pasted() -> None:
    """As the task stands at that end: whoever executes the plan goes on, or the task is retried with what must change;
    it is known by its id, whichever plan is the newest."""
    assert concluded(ENDS["Ctrl-C"][0]).error_context["next"] == ["orchestrate execute p"]
    assert concluded(ENDS["gate"][0]).error_context["next"] == ["orchestrate retry p:t"]
    assert concluded(AttemptEnd.failed("model_error", "Away.")).error_context["next"] == [
        "orchestrate doctor --model",
        "orchestrate execute p",
    ]
