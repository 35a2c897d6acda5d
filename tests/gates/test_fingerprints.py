"""What a fingerprint of a failure is over: the same failure has the same one however it is printed, and no two tests
share one. And what no output, however it was made, can do to its reader."""

from __future__ import annotations

import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.ansi import plain
from orchestrator.domain.failure import ALGORITHM, Failure, ShownFailure
from orchestrator.gates.parsers import junit
from orchestrator.gates.reading import PARSERS, read_check
from orchestrator.gates.tally import MOST_FAILURES

NAMES = st.text(string.ascii_lowercase + "_", min_size=1, max_size=8)
ERRORS = st.tuples(st.sampled_from(["AssertionError", "KeyError"]), st.integers(0, 99)).map(lambda e: f"{e[0]}: {e[1]}")
FAILURES = st.dictionaries(st.tuples(NAMES, NAMES), ERRORS, min_size=1, max_size=6)
"""What went wrong, by file and test."""

NOISE = st.sampled_from(
    [
        ("2026-01-02T03:04:05Z", "1999-12-31 23:59:59.123"),
        ("took 0.01s", "took 12.5s"),
        ("at 0x7f1a313a0390", "at 0x55fa282e000a"),
        ("/tmp/pytest-of-me/a", "/var/folders/x/y/z"),  # noqa: S108
        ("pid 17", "pid=4711"),
        ("localhost:8080", "localhost:51234"),
        ("/work/one/app.py:3", "/work/one/app.py:77"),
        ("6fa459ea-ee8a-4ca4-894e-db77e160355e", "16fd2706-8baf-433b-82eb-8c7fada847da"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("commit 3bf5404", "commit 8de0e71a0c"),
    ]
)


def pytest_output(failures: dict[tuple[str, str], str], noise: str = "", above: int = 0) -> str:
    """pytest's output of these failures, each at a line that `above` moves."""
    parts = ["=" * 20 + " FAILURES " + "=" * 20]
    for (file, test), error in failures.items():
        parts += [f"______ test_{test} ______", "    assert x", f"E   {error} {noise}", f"{file}.py:{9 + above}: Error"]
    parts.append("===== short test summary info =====")
    parts += [f"FAILED {file}.py::test_{test} - {error}" for (file, test), error in failures.items()]
    return plain("\n".join([*parts, f"===== {len(failures)} failed in {above + 0.1}s ====="]))


def shown(output: str, command: str = "pytest") -> dict[str, int]:
    """The fingerprints of what a failed command's output shows, and how often."""
    return {one.failure.fingerprint: one.count for one in read_check(command, 1, output, "/work/one").failures}


@given(FAILURES, NOISE, st.integers(0, 500))
def test_noise_is_no_other_failure(failures: dict[tuple[str, str], str], noise: tuple[str, str], above: int) -> None:
    """Times, durations, addresses, folders, ports, ids, colours and lines that were added above make no difference."""
    one, other = pytest_output(failures, noise[0]), pytest_output(failures, noise[1], above)
    assert shown(one) == shown(other)


@given(FAILURES)
def test_two_tests_never_share_a_fingerprint(failures: dict[tuple[str, str], str]) -> None:
    """However equal their messages are, and in whichever file; nor do two commands."""
    prints = shown(pytest_output(failures))
    assert len(prints) == len(failures)
    assert not set(prints) & set(shown(pytest_output(failures), "pytest -x"))
    assert all(one.startswith(f"{ALGORITHM}:") for one in prints)


@given(FAILURES.flatmap(lambda failures: st.tuples(st.just(failures), st.permutations(list(failures.items())))))
def test_order_makes_no_difference(drawn: tuple[dict[tuple[str, str], str], list[tuple[tuple[str, str], str]]]) -> None:
    """Failures in another order are the same ones, in the same order."""
    failures, shuffled = drawn
    assert read_check("pytest", 1, pytest_output(failures)) == read_check("pytest", 1, pytest_output(dict(shuffled)))


@given(st.lists(st.tuples(NAMES, st.sampled_from(["F401", "E501"])), min_size=1, max_size=8))
def test_every_time_counts(broken: list[tuple[str, str]]) -> None:
    """A rule that is broken three times in one file is one failure with three to count; blank lines count for nothing,
    and nothing is left out."""
    lines = [f"{file}.py:{number}:1: {rule} it is" for number, (file, rule) in enumerate(broken, 1)]
    found = read_check("ruff check", 1, "\n\n \n".join([*lines, "Found errors."])).failures
    counts = {(one.failure.locus, one.failure.test_name): one.count for one in found}
    assert counts == Counter((f"{file}.py", rule) for file, rule in broken)


@given(st.lists(st.sampled_from(["", " ", "ok", "error 7", "x" * 500, "took 3 s"])), st.lists(st.text(max_size=20)))
def test_what_cannot_be_read_is_known_by_its_end(end: list[str], before: list[str]) -> None:
    """One failure of the command, the same however long the output before its end is; another exit code is another
    one."""
    tail = "\n".join([*(["the end of the matter is near"] * 12), *end])
    [one] = read_check("make", 2, tail).failures
    [longer] = read_check("make", 2, "\n".join([*(line.replace("\r", " ") for line in before), tail])).failures
    [other] = read_check("make", 3, tail).failures
    assert (one.failure, one.count) == (longer.failure, 1)
    assert one.failure != other.failure


@given(st.text(), st.integers(1, 255))
def test_any_output_is_read(output: str, code: int) -> None:
    """Whatever a failed command prints shows a failure, and the reader raises nothing."""
    failures = read_check("make", code, output).failures
    assert failures
    assert all(len(one.failure.signature) <= 250 for one in failures)


@given(
    st.lists(
        st.sampled_from(
            [*(mark.strip("\n") for parser in PARSERS for mark in parser.marks), "\n", " ", "x", ":1:1: ", "()"]
        )
    )
)
def test_the_marks_of_tools_in_any_order_are_read(parts: list[str]) -> None:
    """Pieces of all tools' outputs at once: a failure at least, and no parser raises."""
    assert read_check("make", 1, "".join(parts)).failures


def test_more_failures_than_are_told_apart_are_known_by_a_digest() -> None:
    """The first ones by place are told apart and the others counted together, in whatever order all come; one that
    changes among the others is seen."""
    lines = [f"src/f{number:05}.py:1: error: wrong" for number in range(3 * MOST_FAILURES)]
    forth, back = (read_check("mypy", 1, "\n".join(told)).failures for told in (lines, lines[::-1]))
    assert forth == back
    assert len(forth) == MOST_FAILURES + 1
    assert sum(one.count for one in forth) == len(lines)
    other = read_check("mypy", 1, "\n".join([*lines[:-1], "src/zzz.py:1: error: wrong"])).failures
    assert other[:-1] == forth[:-1]
    assert other[-1] != forth[-1]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "x" * 100_000,
        "_ " * 50_000,
        "=" * 100_000,
        "::" * 50_000,
        ":1" * 50_000 + ": error: ",
        " - [" * 30_000,
        "FAILED " + "[" * 100_000,
        "not ok 1 - " + "# " * 50_000,
        "\u2716 " + "(" * 100_000,
        "--- FAIL: " + "/" * 100_000,
        "thread '" + "' " * 50_000 + "panicked at ",
        '  File "' + "," * 100_000,
        "a(1,1" * 20_000 + "error TS1: ",
        "test " + "... " * 25_000,
        "/tmp/" * 20_000,  # noqa: S108
        "\x1b[" * 50_000,
        "\udcff\x00\ufffe" * 10_000,
    ],
    ids=lambda line: repr(line[:12]),
)
def test_long_lines_are_read_in_their_time(line: str) -> None:
    """No pattern takes more than its share of a line that was made for it, in whatever part of an output."""
    begun = ["===== FAILURES =====", "\u2716 failing tests:", "TAP version", "not ok 1 - a", "=" * 70, "FAIL: a (b)"]
    assert read_check("make", 1, "\n".join([*begun, *([line] * 20)])).failures


CASE = '<testcase classname="a" name="b{0}"><failure message="KeyError: 1">E   KeyError: 1</failure></testcase>'
SUITE = "<testsuites><testsuite>{}</testsuite></testsuites>"


@pytest.mark.parametrize(
    "report",
    [
        b"",
        b"\x00\x01\x02",
        b"<a>" * 200_000,
        b'<!DOCTYPE a [<!ENTITY b "c">]>' + SUITE.format(CASE).encode(),
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd">' + SUITE.format(CASE).encode(),
        SUITE.format(CASE).encode()[:-30],
        SUITE.format('<testcase name="b"/>' * 60_000).encode(),
        SUITE.format("<testcase>" * 1_000).encode(),
        '<?xml version="1.0" encoding="utf-16"?>'.encode("utf-16"),
    ],
    ids=["empty", "binary", "deep", "entities", "outside", "cut", "too many", "nested", "utf-16"],
)
def test_a_hostile_report_names_nothing(report: bytes) -> None:
    """It is refused as a whole, and the command has failed all the same: by its output."""
    [one] = read_check("pytest", 1, "it broke", "", {"a.xml": report}).failures
    assert one.failure.signature == "exit 1: it broke"
    assert read_check("pytest", 0, "", "", {"a.xml": report}).failures == ()


def test_a_report_that_hides_a_failure_hides_nothing_that_the_output_names() -> None:
    """A report is written by whoever is tested: what the output names beside it counts, and invalid UTF-8 in it is no
    way out."""
    report = SUITE.format('<testcase classname="a" name="b\xff"/>' + CASE.format(1)).encode("latin-1")
    output = pytest_output({("t", "one"): "KeyError: 2"})
    found = [one.failure.test_name for one in read_check("pytest", 1, output, "", {"a.xml": report}).failures]
    assert found == ["a::b1", "t.py::test_one"]


def test_failures_that_pytest_counts_and_does_not_name_are_one_more() -> None:
    """With `--tb=no -rN`, or where the code under test prints over it: as many as there are, beside those named."""
    named = pytest_output({("t", "one"): "KeyError: 2"})
    assert len(read_check("pytest", 1, named).failures) == 1
    hidden, one = read_check("pytest", 1, named.replace("1 failed in", "3 failed, 4 passed, 1 error in")).failures
    assert (hidden.failure.signature, one.failure.test_name) == ("3 more, which it does not name", "t.py::test_one")
    [silent] = read_check("pytest --tb=no -rN", 1, "FF.\n2 failed, 1 passed in 61.27s (0:01:01)").failures
    assert silent.failure.signature == "2 more, which it does not name"


def test_a_report_of_another_tool_names_its_tests() -> None:
    """Class and name where it tells no file, the type of the error before its message; what it calls anything but a
    report is none."""
    report = (
        b'<testsuite><testcase classname="shop.Cart" name="adds"><error type="Boom" message="no">x</error></testcase>'
        b'<testcase classname="shop.Cart" name="waits"><skipped/></testcase></testsuite>'
    )
    read = read_check("mvn test", 1, "", "", {"a.xml": report, "b.txt": report})
    assert read.failures == (ShownFailure(Failure.of("mvn test", test_name="shop.Cart::adds", signature="Boom: no")),)
    assert read.tests is not None
    assert (read.tests.ran, read.tests.skipped) == (("shop.Cart::adds",), ("shop.Cart::waits",))
    assert junit.read_junit(report) == junit.read_junit(report)
