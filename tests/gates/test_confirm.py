"""Which tests are run again alone, how, and what follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.domain.attempt import Check
from orchestrator.domain.baseline import Baseline
from orchestrator.domain.failure import Failure, ShownFailure, TestsSeen
from orchestrator.gates.answer import Answer
from orchestrator.gates.baseline import blamed, compare, fails_as_before, judge_baseline, known_failures
from orchestrator.gates.confirm import MOST_CONFIRMED, alone, judge_flaky, passed_alone, suspects, with_flaky
from orchestrator.gates.progress import failure_counts
from tests.gates.test_baseline import CHECK
from tests.support.samples import T0


def failing(*names: str, package: str = "") -> tuple[ShownFailure, ...]:
    """Tests that failed."""
    return tuple(
        ShownFailure(Failure.of("c", package=package, test_name=name, signature="AssertionError")) for name in names
    )


def check(*names: str) -> Check:
    """A check that showed them."""
    return replace(CHECK, failures=failing(*names))


@pytest.mark.parametrize(
    ("command", "names", "narrowed"),
    [
        ("pytest -q", ["t.py::a", "t.py::B::c[1]"], "pytest -q 't.py::B::c[1]' t.py::a"),
        ("pytest -q tests -k 'not slow' -x", ["t.py::a"], "pytest -q -k 'not slow' -x t.py::a"),
        (
            "A='1 2' uv run python3.11 -m pytest --cov=x a/",
            ["t.py::a"],
            "A='1 2' uv run python3.11 -m pytest --cov=x t.py::a",
        ),
        (".venv/bin/pytest", ["t.py::a", "t.py"], ".venv/bin/pytest t.py::a"),
        ("pytest --ds settings", ["t.py::a"], None),
        ("pytest", ["t.py"], None),
        (
            "python3 -m unittest -q",
            ["t.A.b (i=1)", "t.A.b (i=2)", "t.A.c"],
            "python3 -m unittest -v -k t.A.b -k t.A.c",
        ),
        ("python3 -m unittest discover -s tests", ["t.A.b"], "python3 -m unittest discover -s tests -v -k t.A.b"),
        ("go test ./...", ["TestA/one", "TestA/two"], "go test -count=1 -v -run '^(TestA)$' ./..."),
        ("go test -run=X ./...", ["TestA"], None),
        (
            "node --test test/",
            ["suite > adds 1+1"],
            r"node --test '--test-name-pattern=adds 1\+1$' '--test-name-pattern=suite$' test/",
        ),
        ("cargo test --lib -- --nocapture", ["a::b"], "cargo test --lib -- --nocapture --exact a::b"),
        ("cargo test -q", ["a::b"], "cargo test -- --exact a::b"),
        ("npm test", ["a"], None),
        ("make test", ["t.py::a"], None),
        ("pytest | tee log", ["t.py::a"], None),
        ("cd x && pytest", ["t.py::a"], None),
        ("pytest $MORE", ["t.py::a"], None),
        ('pytest -k "$X"', ["t.py::a"], None),
        ("pytest 'a", ["t.py::a"], None),
        ("", ["t.py::a"], None),
        ("A=1", ["t.py::a"], None),
        ("python3 -m unittest", ["-h", "a\0b", "a\nb"], None),
    ],
)
def test_a_command_is_narrowed_where_its_tool_is_certain(command: str, names: list[str], narrowed: str | None) -> None:
    """To the failing tests, with its other options; not through a shell's own means, and never by what a test's name
    makes of the line."""
    assert alone(command, failing(*names)) == narrowed


def test_a_test_that_passes_alone_is_flaky_and_one_that_does_not_run_is_not() -> None:
    """What passed once is flaky, even with another message than before; what failed again in another way, was skipped
    or is not told of is no less a failure."""
    again = Answer(
        outcome="failed",
        output="",
        failures=(ShownFailure(Failure.of("c", test_name="other", signature="KeyError")),),
        tests=TestsSeen(ran=("flaky", "other"), skipped=("skipped",)),
    )
    assert passed_alone(again) == {"flaky"}
    assert passed_alone(Answer(outcome="passed", output="")) == frozenset()
    marked = with_flaky(check("flaky", "other", "skipped", "gone"), passed_alone(again))
    assert [each.flaky for each in marked.failures] == [True, False, False, False]
    assert [each.flaky for each in with_flaky(marked, {"gone"}).failures] == [True, False, False, True]
    packaged = replace(CHECK, failures=failing("TestA", package="x/y"))
    assert with_flaky(packaged, {"x/y::TestA"}).failures[0].flaky


def test_a_flaky_failure_is_told_and_kept_out_of_all_that_counts() -> None:
    """It blocks nothing, is no failure by which a stall is known, and neither old, new nor fixed; it excuses none."""
    flaky = with_flaky(check("a"), {"a"})
    base = Baseline(run_id="r", commit="c", tree="t", captured_at=T0, checks=(flaky,))

    assert fails_as_before(flaky, None) and fails_as_before(flaky, check("b"))
    assert list(blamed([flaky], base)) == []
    [found] = judge_flaky([flaky])
    assert (found.code, found.severity, found.locus, found.blocking) == ("flaky", "warning", "a", False)
    assert failure_counts([found]) == ()
    assert compare(check("a"), flaky).new == failing("a")
    assert list(judge_baseline([replace(CHECK, outcome="passed", exit_code=0)], base, ())) == []
    assert known_failures(base) == ("a: AssertionError (`pytest`, flaky)",)


def test_only_new_failures_are_looked_at_again_and_few_of_them() -> None:
    """An old failure needs no second look, and very many at once are no accident."""
    assert suspects(check("a", "b"), check("a")) == failing("b")
    assert suspects(check("a"), with_flaky(check("a"), {"a"})) == failing("a")
    assert suspects(with_flaky(check("a"), {"a"}), None) == ()
    assert suspects(replace(check("a"), outcome="infrastructure"), None) == ()
    assert suspects(check(*(str(number) for number in range(MOST_CONFIRMED + 1))), None) == ()
