"""What one run of a check came to."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from orchestrator.domain.workspace import CommandResult
from orchestrator.gates.answer import Answer, read_answer
from orchestrator.gates.decision_file import DECISION_FILE

JUDGE = "judge {check_id}"


def answered(command: str, *, told: dict[str, Any] | None = None, **changes: Any) -> Answer:
    """The answer of a command that left this decision, or none."""
    fields: dict[str, Any] = {"ended": "exited", "exit_code": 0, "output": "said\n"}
    reports = {} if told is None else {DECISION_FILE: json.dumps(told).encode()}
    at = datetime(2026, 1, 1, tzinfo=UTC)
    result = CommandResult(command=command, duration_ms=1.0, started_at=at, reports=reports, **fields | changes)
    return read_answer(command, "id", result, "/w")


def test_an_ordinary_check_answers_by_its_exit_code() -> None:
    """What it leaves as a decision is not looked at; one that was ended gave no answer, and its output says so."""
    no = {"decision": "incomplete", "check_id": "id"}
    assert answered("pytest", told=no) == Answer(outcome="passed", output="said\n")
    failed = answered("pytest", exit_code=1)
    assert (failed.outcome, len(failed.failures)) == ("failed", 1)
    assert answered("pytest", ended="timeout", exit_code=None, detail="after 5 s") == Answer(
        outcome="infrastructure", output="said\n\n[timeout: after 5 s]"
    )


def test_a_judge_answers_by_what_it_decided() -> None:
    """With exit code 0 too; its reasons are in the output that is kept, and its fingerprints are the failures."""
    told = {"decision": "incomplete", "check_id": "id", "reasons": ["why"], "fingerprints": ["a"]}
    found = answered(JUDGE, told=told)
    assert (found.outcome, found.output) == ("failed", "said\n[decision: incomplete]\nwhy")
    assert [shown.failure.test_name for shown in found.failures] == ["a"]
    assert answered(JUDGE, told={"decision": "complete", "check_id": "id"}).outcome == "passed"


def test_a_judge_that_cannot_be_understood_gave_no_answer() -> None:
    """Another check's decision, or a command that was not found: no failure of the worker's, and it is said why."""
    found = answered(JUDGE, told={"decision": "complete", "check_id": "another"})
    assert (found.outcome, found.failures) == ("infrastructure", ())
    assert "not about this check" in found.output
    assert answered(JUDGE, exit_code=127).outcome == "infrastructure"
