"""What a command that judges has decided."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.gates.decision_file import (
    DECISION_FILE,
    JudgedDecision,
    asked_command,
    is_decision_command,
    judge_decision,
    shown_by,
)

ID = "p:t:1:pass1:check1"


def written(told: Any, exit_code: int | None = 0, output: str = "") -> JudgedDecision:
    """What follows from a file with this content."""
    content = told if isinstance(told, bytes) else json.dumps(told).encode()
    return judge_decision(ID, exit_code, output, {DECISION_FILE: content})


def test_the_id_is_in_the_commands_text_and_environment() -> None:
    """A command without a place for it is an ordinary check."""
    assert is_decision_command("judge --id {check_id}")
    assert not is_decision_command("pytest")
    assert asked_command("judge {check_id}", "a b").splitlines() == [
        "export ORCHESTRATE_CHECK_ID='a b'",
        "judge 'a b'",
    ]


def test_a_file_decides_with_reasons_and_fingerprints() -> None:
    """Blank, repeated and foreign entries do no harm, and order makes no difference."""
    told = {"decision": "incomplete", "check_id": ID, "reasons": ["why", " ", 3], "fingerprints": ["b", None, "a", "b"]}
    assert written(told, 1) == JudgedDecision("incomplete", reasons=("why",), fingerprints=("a", "b"))
    assert written(told, 0).said == "incomplete"
    assert written({"decision": "complete", "check_id": ID}).said == "complete"
    assert written({"decision": "complete", "check_id": ID, "fingerprints": [""]}).said == "complete"


@pytest.mark.parametrize(("fingerprints", "exit_code"), [(["a"], 0), ([], 1)])
def test_a_pass_that_contradicts_itself_is_none(fingerprints: list[str], exit_code: int) -> None:
    """Complete, but with failures, or with an exit code that says otherwise."""
    found = written({"decision": "complete", "check_id": ID, "fingerprints": fingerprints}, exit_code)
    assert found.said == "incomplete"
    assert found.reasons[0].startswith("contradictory_decision")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"decision": "complete", "check_id": "p:t:1:pass1:check0"}, "is not about this check"),
        ({"decision": "complete"}, "is not about this check"),
        ({"decision": "yes", "check_id": ID}, "neither complete nor incomplete"),
        ({"decision": ["complete"], "check_id": ID}, "neither complete nor incomplete"),
        ([{"decision": "complete", "check_id": ID}], "holds no object"),
        (b"x" * 1_000_000, "1000000 bytes"),
        (b"\xff\xfe", "no UTF-8"),
        (b"", "no JSON"),
        (b"[" * 90_000, "no JSON"),
        (b"1" * 90_000, "no JSON"),
    ],
)
def test_what_cannot_be_taken_for_a_verdict_is_none(told: Any, why: str) -> None:
    """A stale file, a foreign one, an array, a huge one, invalid UTF-8: the check gave no answer, and it says why,
    whatever its output claims."""
    found = written(told, 0, "COMPLETE")
    assert (found.said, why in found.detail) == ("nothing", True), found.detail


@pytest.mark.parametrize(
    ("output", "exit_code", "said"),
    [
        ("", 0, "nothing"),
        ("", 1, "incomplete"),
        ("COMPLETE\n", 0, "complete"),
        ("  PASS  \r\n", 0, "complete"),
        ("I looked. VERDICT: PASS", 0, "complete"),
        ("DECISION: INCOMPLETE\n", 0, "incomplete"),
        ("INCOMPLETE\nComplete the remaining TODOs", 0, "incomplete"),
        ("COMPLETE\nFAIL\n", 0, "incomplete"),
        ("COMPLETE\n", 1, "incomplete"),
        ("FAILED\n", 0, "incomplete"),
        ("all tests COMPLETE and fine, FAIL is no word here", 0, "nothing"),
        ("complete", 1, "incomplete"),
    ],
)
def test_without_a_file_a_line_says_it_or_the_exit_code(output: str, exit_code: int, said: str) -> None:
    """Only whole lines, or a verdict at the end of one; what conflicts is incomplete, and silence is no pass."""
    assert judge_decision(ID, exit_code, output, {"other.json": b"{}"}).said == said


@pytest.mark.parametrize("exit_code", [2, 101, None])
def test_a_judge_that_fails_itself_gave_no_answer(exit_code: int | None) -> None:
    """From 2 on an exit code is the judge's own trouble, whatever the file says."""
    assert written({"decision": "complete", "check_id": ID}, exit_code).said == "nothing"


def test_failures_are_known_again_by_what_the_judge_calls_them() -> None:
    """By its fingerprints, whatever it says about them; else by its reasons without their noise."""
    first, again = (JudgedDecision("incomplete", reasons=(why,), fingerprints=("a", "b")) for why in ("one", "two"))
    assert [one.failure for one in shown_by("judge", first)] == [one.failure for one in shown_by("judge", again)]
    assert len({one.failure.fingerprint for one in shown_by("judge", first)}) == 2
    (timed,), (later,) = (
        shown_by("judge", JudgedDecision("incomplete", reasons=(f"{n} s too slow",))) for n in (1.5, 2.5)
    )
    assert timed.failure == later.failure
    assert timed.excerpt == "1.5 s too slow"


@given(st.binary(max_size=200), st.text(max_size=200), st.sampled_from([0, 1, 2, None]))
def test_nothing_that_a_judge_writes_is_an_error(content: bytes, output: str, exit_code: int | None) -> None:
    """Bytes of any kind come to an answer, and never to a pass without the id."""
    assert judge_decision(ID, exit_code, output, {DECISION_FILE: content}).said in ("nothing", "incomplete")
