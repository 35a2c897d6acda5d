"""What QC cites, read from its answer and held against what is there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.attempt import Check
from orchestrator.domain.review import Proof
from orchestrator.gates.evidence import against_command, against_lines, read_proof

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FILE = b"def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b\n"


def ended(exit_code: int | None = 0, output: str = "Ran 2 tests\nOK\n") -> Check:
    """A command that was run again."""
    return Check(
        id="c",
        command="make test",
        exit_code=exit_code,
        outcome="infrastructure" if exit_code is None else "failed" if exit_code else "passed",
        duration_ms=1.0,
        output=output,
        started_at=NOW,
        phase="review",
        pass_id="v",
    )


def command(**given_: Any) -> Proof:
    """A command as evidence."""
    return Proof(kind="command", **{"command": "make test", **given_})


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        ({"kind": "command", "command": "x", "exit_code": 1}, "command", "`x` ends with 1"),
        ({"command": "x", "contains": "ok"}, "command", "`x` ends with 0, prints 'ok'"),
        ({"path": "a.py", "first": 2, "last": 1, "contains": "y"}, "lines", "a.py:2-2 holds 'y'"),
        ({"kind": "proof", "text": "I looked."}, "text", "I looked."),
        ("I looked.", "text", "I looked."),
        ({"kind": "command", "command": "x", "exit_code": 10**6_000}, "command", "`x` ends with 0"),
    ],
)
def test_evidence_is_read_for_what_it_names(value: object, kind: str, words: str) -> None:
    """A command, lines of a file, or words; a kind that is wrong or left out is told by what is there."""
    proof = read_proof(value)
    assert proof is not None
    assert (proof.kind, str(proof)) == (kind, words)


@pytest.mark.parametrize("value", [None, 3, [], {}, "", " ", {"kind": "command"}, {"kind": "lines", "path": "a"}])
def test_what_names_nothing_is_no_evidence(value: object) -> None:
    """No command, lines without what stands in them, nothing at all."""
    assert read_proof(value) is None


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
FIELDS = st.sampled_from(["kind", "command", "exit_code", "path", "first", "last", "contains", "text"])
VALUES = LEAVES | st.sampled_from(["command", "lines", "text"]) | st.lists(LEAVES, max_size=2)


@given(VALUES | st.dictionaries(FIELDS, VALUES, max_size=6))
def test_any_value_is_evidence_or_none(value: object) -> None:
    """Whatever stands there is read without an error, and looked up without one."""
    proof = read_proof(value)
    if proof is not None:
        assert str(proof)
        assert isinstance(against_lines(proof, FILE), str)
        assert isinstance(against_command(proof, ended(), always_succeeds=False), str)


@pytest.mark.parametrize(
    ("proof", "check", "swallows", "why"),
    [
        (command(), ended(), False, ""),
        (command(exit_code=2), ended(2), False, ""),
        (command(contains="ran 2"), ended(), False, "it did not print 'ran 2' when it was run again"),
        (command(contains="Ran 2\n tests  OK"), ended(output="\x1b[32mRan 2 tests\x1b[0m\nOK"), False, ""),
        (command(), ended(1), False, "it ended with 1 when it was run again, not with 0"),
        (command(), ended(None), False, "it gave no answer when it was run again"),
        (command(), ended(output="\nRan 0 tests in 0.000s\n\nOK\n"), False, "it runs no test"),
        (command(), ended(output="Ran 0 tests in 0.1s\nRan 3 tests in 0.1s\n"), False, ""),
        (command(), ended(), True, "it succeeds whatever the work is"),
        (command(command="echo OK", contains="OK"), ended(), True, "it succeeds whatever the work is"),
        (command(command="cat log | head", contains="OK"), ended(), True, ""),
    ],
)
def test_a_command_shows_what_it_is_cited_for_or_why_not(proof: Proof, check: Check, swallows: bool, why: str) -> None:
    """Its exit code and what it prints, as it ends when it is run again; what passes for another reason shows
    nothing."""
    assert against_command(proof, check, always_succeeds=swallows) == why


@pytest.mark.parametrize(
    ("first", "last", "contains", "why"),
    [
        (5, 6, "def subtract(a, b): return a - b", ""),
        (5, 99, "5\tdef subtract(a, b):\n6\t    return a - b", ""),
        (1, 2, "return a - b", "'return a - b' does not stand in lines 1 to 2 of calc.py"),
        (7, 9, "return", "calc.py has 6 lines, and no line 7"),
        (0, 9, "return", "calc.py has 6 lines, and no line 0"),
    ],
)
def test_lines_hold_what_they_are_cited_for_or_why_not(first: int, last: int, contains: str, why: str) -> None:
    """White space and the numbers that read_file shows make no difference; another line does."""
    proof = Proof(kind="lines", path="calc.py", first=first, last=last, contains=contains)
    assert against_lines(proof, FILE) == why


def test_lines_of_a_file_that_is_not_there_hold_nothing() -> None:
    """Neither there nor readable is the same to whoever looks it up."""
    proof = Proof(kind="lines", path="gone.py", first=1, last=1, contains="x")
    assert against_lines(proof, None) == "there is no file 'gone.py'"
