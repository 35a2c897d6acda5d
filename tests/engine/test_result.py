"""What each way out of an attempt means for it, its task and its run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.domain.attempt import AttemptResult, VerificationResult
from orchestrator.domain.errors import DiskFullError, ModelError, RunBoundError, WorkspaceError
from orchestrator.domain.finding import Finding
from orchestrator.domain.review import Review
from orchestrator.domain.run import Claim
from orchestrator.domain.task import Task
from orchestrator.domain.usage import Usage
from orchestrator.domain.verdict import Stop
from orchestrator.domain.workspace import FileChange
from orchestrator.engine.attempt.result import AttemptEnd, attempt_result
from orchestrator.engine.loop.conversation import ConversationResult
from orchestrator.gates.convergence import Convergence
from orchestrator.gates.retry import RetryPolicy

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TASK = Task(
    id="p:t",
    plan_id="p",
    key="t",
    title="T",
    prompt="Do.",
    kind="simple",
    role="coder",
    qc_role="reviewer",
    tool_call_budget=20,
    max_attempts=1,
)
CLAIM = Claim(run_id="r", task=TASK, attempt_id="p:t:1", number=1, fence=1, owner="o", at=NOW)
FLAW = Finding(code="check_failed", severity="error", message="`x` exited with 1.", source="check", fingerprint="f1:1")
CHANGE = FileChange(path="a.py", status="modified", added=3, removed=1, blob="b", kind="file", substantive=True)
PASSED = VerificationResult(id="p1", tree="tree1", changes=(CHANGE,))
REVIEW = Review(
    id="v",
    passed=True,
    score=90,
    feedback="Fine.",
    strictness="normal",
    model="m",
    content_hash="h",
    prompt_tokens=1,
    completion_tokens=1,
    tool_call_count=0,
    duration_ms=1.0,
    at=NOW,
)


def concluded(end: AttemptEnd, commit: str | None = None, head_before: str | None = None) -> AttemptResult:
    """The result of a first attempt of one, begun at stage 2."""
    return attempt_result(
        replace(end, number=CLAIM.number),
        task=TASK,
        policy=RetryPolicy(max_attempts=TASK.max_attempts, max_stopped_attempts=2),
        earlier=(),
        converged=Convergence(stage=2),
        tree="tree1",
        worker_output="Done.",
        usage=Usage(),
        at=NOW,
        duration_ms=5.0,
        commit=commit,
        head_before=head_before,
    )


def test_an_accepted_attempt_completes_its_task_and_moves_the_head() -> None:
    """Commit and head go with the merge; the Decision is complete, at the attempt's stage."""
    found = concluded(AttemptEnd.reviewed(PASSED, REVIEW), "c1", "c0")
    assert (found.attempt_status, found.task_status, found.task_stop_reason) == ("accepted", "completed", "completed")
    assert (found.commit, found.head_before, found.diagnosis) == ("c1", "c0", None)
    assert (found.files_changed, found.lines_changed) == (1, 4)
    assert found.decision is not None
    assert (found.decision.decision, found.decision.stage) == ("complete", 2)


@pytest.mark.parametrize(
    ("end", "reason", "detail"),
    [
        (AttemptEnd.gate_failed(replace(PASSED, findings=(FLAW,))), "gate_failed", FLAW.message),
        (AttemptEnd.gate_failed(replace(PASSED, findings=(FLAW,)), REVIEW), "gate_failed", FLAW.message),
        (AttemptEnd.reviewed(PASSED, replace(REVIEW, passed=False)), "review_failed", "Fine."),
        (
            AttemptEnd.reviewed(PASSED, replace(REVIEW, passed=False, feedback="", findings=(FLAW,))),
            "review_failed",
            FLAW.message,
        ),
    ],
    ids=["gate", "merge", "review", "review without feedback"],
)
def test_a_rejection_is_told_and_ends_a_task_without_attempts_left(end: AttemptEnd, reason: str, detail: str) -> None:
    """The attempt was the only one: the Decision is failed and a diagnosis says why."""
    found = concluded(end)
    assert (found.attempt_status, found.stop_reason, found.stop_detail) == ("rejected", reason, detail)
    assert (found.task_status, found.task_stop_reason) == ("failed", "attempts_exhausted")
    assert found.decision is not None
    assert found.decision.decision == "failed"
    assert found.diagnosis is not None
    assert found.diagnosis.attempts == 1
    assert found.commit is None


BOUND = Stop("ledger", "token_limit", "Too many.", 9.0, 8.0, evidence={"level": "run"})
AWAY = ModelError("Nobody answers.")
GAVE_UP = ConversationResult(reason="submitted", tool="give_up", arguments={"reason": "No."})
UNREACHABLE = ConversationResult(reason="model_error", error=AWAY)


@pytest.mark.parametrize(
    ("end", "expected", "halts"),
    [
        (AttemptEnd.interrupted("Ctrl-C"), ("interrupted", "interrupted", "pending"), None),
        (
            AttemptEnd.of_conversation(ConversationResult(reason="interrupted", detail="Ctrl-C")),
            ("interrupted", "interrupted", "pending"),
            None,
        ),
        (AttemptEnd.of_conversation(GAVE_UP), ("failed", "gave_up", "failed"), None),
        (AttemptEnd.of_conversation(UNREACHABLE), ("failed", "model_error", "pending"), ModelError),
        (
            AttemptEnd.of_conversation(ConversationResult(reason="loop_detected")),
            ("stopped", "loop_detected", "failed"),
            None,
        ),
        (
            AttemptEnd.of_conversation(ConversationResult(reason="token_limit", stop=BOUND)),
            ("interrupted", "token_limit", "pending"),
            RunBoundError,
        ),
        (AttemptEnd.failed("review_error", "?", verified=PASSED), ("failed", "review_error", "pending"), None),
        (AttemptEnd.of_error(AWAY), ("failed", "model_error", "pending"), ModelError),
        (AttemptEnd.of_error(DiskFullError("Full.")), ("interrupted", "interrupted", "pending"), DiskFullError),
        (AttemptEnd.of_error(WorkspaceError("git.")), ("failed", "workspace_error", "pending"), None),
        (
            AttemptEnd.interrupted("!", verified=PASSED, halt=RunBoundError("!")),
            ("interrupted", "interrupted", "pending"),
            RunBoundError,
        ),
    ],
)
def test_what_was_not_the_works_fault_leaves_the_task_open(
    end: AttemptEnd, expected: tuple[str, ...], halts: Any
) -> None:
    """An interruption, the run's own bound, an endpoint that is away and a review that fails use up no attempt."""
    found = concluded(end)
    assert (found.attempt_status, found.stop_reason, found.task_status) == expected
    assert (type(end.halt) if end.halt else None) is halts


def test_a_defect_of_ours_leaves_its_traceback() -> None:
    """The graph keeps what the user is shown only once."""
    try:
        raise ZeroDivisionError("ours")
    except ZeroDivisionError as error:
        end = AttemptEnd.of_error(error)
    found = concluded(end)
    assert (found.attempt_status, found.stop_reason) == ("failed", "workspace_error")
    assert "ZeroDivisionError: ours" in found.error_context["traceback"]
    assert "traceback" not in concluded(AttemptEnd.interrupted("?")).error_context
