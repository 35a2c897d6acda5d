"""Which checks need not be run again, and what is recorded in their place."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from orchestrator.domain.attempt import Check
from orchestrator.domain.workspace import AbsentFile
from orchestrator.gates.checks import judge_checks, judge_untested, passed_over, reused

AT = datetime(2026, 1, 1, tzinfo=UTC)
RAN = Check("a1:check1", "pytest", 0, "passed", 900.0, "3 passed", AT, "verification", "a1:pass1", tree="tree1")


@pytest.mark.parametrize(
    "check",
    [
        replace(RAN, tree="tree2"),
        replace(RAN, tree=None),
        replace(RAN, outcome="failed", exit_code=1),
        replace(RAN, outcome="infrastructure", exit_code=None),
    ],
    ids=["another tree", "no tree recorded", "failed", "no answer"],
)
def test_only_what_passed_over_the_same_tree_need_not_run_again(check: Check) -> None:
    """Another tree, a failure and a check without an answer are no evidence; a pass is, for its own command."""
    other = replace(RAN, id="a1:check2", command="ruff check")
    assert passed_over("tree1", [check, other]) == {"ruff check": other}


def test_a_failure_that_names_an_absent_file_says_so() -> None:
    """A finding tells of the ignored file that its output names, and only of that; it stays the same finding."""
    failed = replace(RAN, outcome="failed", exit_code=1, output="ModuleNotFoundError: No module named 'tiny._version'")
    absent = (AbsentFile("tiny/_version.py", "tiny/__init__.py", "Set it."), AbsentFile("b.py", "c.py", "No."))
    [told], [bare] = judge_checks([failed], "", absent), judge_checks([failed])
    assert "tiny/_version.py is ignored by git and tiny/__init__.py needs it" in told.message
    assert "b.py" not in told.message.replace("_version.py", "")
    assert told.fingerprint == bare.fingerprint


@pytest.mark.parametrize("output", ["AttributeError: 'bytes' has no b2", "bb.py:1: error", "tool --verb-b", "a_b"])
def test_a_failure_names_an_absent_file_by_its_whole_name(output: str) -> None:
    """A short name occurs in many words, which do not mean the file."""
    failed = replace(RAN, outcome="failed", exit_code=1, output=output)
    absent = (AbsentFile("b.py", "c.py", "No."),)
    [told] = judge_checks([failed], "", absent)
    assert "b.py" not in told.message
    for named in ("No module named 'b'", "Cannot find module './lib/b.py'", "from tiny.b import x"):
        [told] = judge_checks([replace(failed, output=named)], "", absent)
        assert "b.py is ignored by git" in told.message


@pytest.mark.parametrize(
    ("output", "nothing"),
    [
        ("\n----\nRan 0 tests in 0.000s\n\nOK\n", True),
        ("no tests ran in 0.01s", True),
        ("TAP version 13\n# tests 0\n# pass 0\n", True),
        ("ℹ tests 0\n", True),
        ("running 0 tests\n\ntest result: ok. 0 passed; 0 failed\n", True),
        ("ok  \texample.org/a\t0.002s [no tests to run]\ntesting: warning: no tests to run\n", True),
        ("Ran 0 tests in 0.1s\nRan 3 tests in 0.1s\n", False),
        ("running 3 tests\n\nrunning 0 tests\n", False),
        ("ok  \texample.org/a\t0.002s\ntesting: warning: no tests to run\n", False),
        ("# tests 12\n", False),
        ("All checks passed!", False),
        ("", False),
    ],
)
def test_a_pass_that_ran_no_test_is_told(output: str, nothing: bool) -> None:
    """It shows nothing about the work, which is the plan's fault and not the work's: so it blocks nothing. A failure
    is told as what it is."""
    told = [(f.code, f.severity, f.locus) for f in judge_untested([replace(RAN, output=output)])]
    assert told == ([("no_tests", "warning", "pytest")] if nothing else [])
    assert list(judge_untested([replace(RAN, output=output, outcome="failed", exit_code=5)])) == []


def test_what_stands_for_a_check_names_the_one_that_ran() -> None:
    """Reused twice, it still leads to the run itself; the result is that run's, phase and instant are its own."""
    later = datetime(2026, 1, 2, tzinfo=UTC)
    once = reused(RAN, check_id="a2:check1", phase="verification", pass_id="a2:pass1", at=later)
    twice = reused(once, check_id="a3:check1", phase="merge", pass_id="a3:merge1", at=later)
    assert once.reused_from == twice.reused_from == RAN.id
    assert (once.started_at, once.duration_ms, once.pass_id) == (later, 0.0, "a2:pass1")
    assert (once.phase, twice.phase) == ("verification", "merge")
    assert (once.outcome, once.exit_code, once.output, once.tree) == ("passed", 0, "3 passed", "tree1")
    assert passed_over("tree1", [RAN, once]) == {"pytest": RAN}
