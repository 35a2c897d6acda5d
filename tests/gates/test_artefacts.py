"""The documents about a task."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

from orchestrator.domain.attempt import AttemptSummary, Check, Decision
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.failure import Failure, ShownFailure
from orchestrator.domain.finding import Finding
from orchestrator.domain.workspace import FileChange
from orchestrator.gates.artefacts import completion_reasons, task_artefacts
from tests.support.samples import attempt_summary, new_task

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TASK = new_task("p", 0, ())
FAILED = Finding(code="check_failed", severity="error", message="m", source="check", fingerprint="f2:1", count=3)
OUTSIDE = Finding(code="out_of_scope", severity="error", message="o", source="scope", fingerprint="f1:2")
WARNING = replace(OUTSIDE, code="put_back", severity="warning", fingerprint="f1:3")
FOUND = (FAILED, OUTSIDE, WARNING)
DECISION = Decision(
    "incomplete", "c", ("m", "o"), ("f1:2", "f2:1"), 2, "p1", NOW, "set", "tree", counts=(1, 3), trend="stalled"
)


def rejected(number: int, stage: int, decision: Decision | None = DECISION) -> AttemptSummary:
    """A rejected attempt of a stage."""
    return attempt_summary(id=f"t:{number}", number=number, stage=stage, decision=decision, findings=FOUND)


def test_the_documents_say_what_is_recorded() -> None:
    """A row for each check pass, a transition where the stage changed, and what blocks now; JSON throughout."""
    stopped = attempt_summary(id="t:3", number=3, status="stopped", stop_reason="stalled")
    change = FileChange(path="a", status="added", added=2, removed=1, blob="b", kind="file", substantive=True)
    told = json.loads(
        json.dumps(task_artefacts(TASK, [rejected(1, 1), rejected(2, 2), stopped], [change] * 1_200, None))
    )
    assert {document["attempt"] for document in told.values()} == {"t:2"}, "the last that came to a decision"
    assert {document["schema"] for document in told.values()} == {1}
    rows = told["failure_fingerprint_history.json"]["passes"]
    assert [row["attempt"] for row in rows] == ["t:1", "t:2"]
    assert rows[0]["failures"] == [{"fingerprint": "f1:2", "count": 1}, {"fingerprint": "f2:1", "count": 3}]
    (moved,) = told["stage_transitions.json"]["transitions"]
    assert (moved["attempt"], moved["from"], moved["to"], moved["trend"]) == ("t:1", 1, 2, "stalled")
    assert [each["count"] for each in told["current_failures.json"]["failures"]] == [3, 1]
    scope = told["scope.json"]
    assert (scope["changed_files"], scope["changed_lines"], len(scope["changes"])) == (1_200, 3_600, 1_000)
    assert [each["code"] for each in scope["violations"]] == ["out_of_scope", "put_back"]


def test_a_task_that_came_to_no_decision_has_documents_too() -> None:
    """Nothing is known of its work, and that is said."""
    told = task_artefacts(TASK, [attempt_summary(status="stopped", findings=())], (), None)
    assert told["completion_reasons.json"]["decision"] is None
    assert told["failure_fingerprint_history.json"]["passes"] == []


def test_what_failed_before_the_work_has_a_document_where_it_was_measured() -> None:
    """Each failure with the command that showed it; without a baseline the document of an earlier attempt stays."""
    shown = ShownFailure(Failure.of("pytest", test_name="test_a", locus="t.py"), 2)
    check = Check("c", "pytest", 1, "failed", 1.0, "", NOW, "baseline", "b", failures=(shown,))
    baseline = Baseline(run_id="r", commit="base", tree="t", captured_at=NOW, checks=(check,))
    told = task_artefacts(TASK, [rejected(1, 1)], (), baseline)["baseline_failures.json"]
    assert (told["base"], told["checks"]) == ("base", [{"command": "pytest", "outcome": "failed"}])
    assert [(each["test"], each["count"]) for each in told["failures"]] == [("test_a", 2)]
    assert "baseline_failures.json" not in task_artefacts(TASK, [rejected(1, 1)], (), None)


def test_reasons_tell_new_failures_from_violations() -> None:
    """What a check showed is new, what lies outside the scope a violation; a conflict in the merge is neither."""
    conflict = replace(FAILED, code="merge_conflict", fingerprint="f1:9")
    reasons = completion_reasons(DECISION, (*FOUND, conflict))
    assert (reasons["new_failures"], reasons["scope_violation"]) == (["f2:1"], True)
    assert (reasons["stage"], reasons["stall_count"], reasons["decision"]) == (2, 0, "incomplete")
    assert completion_reasons(DECISION, (FAILED, WARNING))["scope_violation"] is False
