"""What is read of the real output of real tools, two releases of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.domain.ansi import plain
from orchestrator.domain.failure import TestsSeen
from orchestrator.gates.reading import read_check

OUTPUTS = Path(__file__).parents[1] / "data" / "outputs"
SUMS = "tests/test_sums.py"

Row = tuple[int, str, str, str, str]
"""How often, package, test or rule, path, signature."""

PYTEST: list[Row] = [
    (1, "", f"{SUMS}::TestTable::test_finds[a b]", SUMS, "KeyError: 'a b'"),
    (1, "", f"{SUMS}::TestTable::test_finds[c::d]", SUMS, "KeyError: 'c::d'"),
    (1, "", f"{SUMS}::test_adds", SUMS, "assert (1 + 1) == 3"),
    (1, "", f"{SUMS}::test_adds_more", SUMS, "assert (1 + 1) == 3"),
    (1, "", f"{SUMS}::test_setup", SUMS, "RuntimeError: no database"),
]
UNCOLLECTED: Row = (
    1,
    "",
    "tests/test_import.py",
    "tests/test_import.py",
    "ModuleNotFoundError: No module named 'no_such_module'",
)
UNITTEST: list[Row] = [
    (1, "", "unittest.loader._FailedTest.test_import", "", "ModuleNotFoundError: No module named 'no_such_module'"),
    (1, "", "test_sums.Sums.test_adds", "test_sums.py", "AssertionError: 2 != 3"),
    (1, "", "test_sums.Sums.test_adds_more", "test_sums.py", "AssertionError: 2 != 3"),
    (1, "", "test_sums.Sums.test_each (number=1)", "test_sums.py", "AssertionError: 1 != 0 : not nothing"),
    (1, "", "test_sums.Sums.test_each (number=2)", "test_sums.py", "AssertionError: 2 != 0 : not nothing"),
    (1, "", "test_sums.Sums.test_raises", "test_sums.py", "KeyError: 'key'"),
]
EQUAL = "Expected values to be strictly equal: 2 !== 3"
DEEP = "Expected values to be strictly deep-equal: + actual - expected { + a: 1 - a: 2 }"
NODE, BROKEN = "test/sums.test.js", "test/broken.test.js"
TAP: list[Row] = [
    (1, "", BROKEN, BROKEN, "test failed"),
    (1, "", "adds", NODE, f"AssertionError: {EQUAL}"),
    (1, "", "rejects", NODE, "TypeError: no database"),
    (1, "", "table > finds", NODE, f"AssertionError: {DEEP}"),
]
SPEC: list[Row] = [
    (1, "", BROKEN, BROKEN, "'test failed'"),
    (1, "", "adds", NODE, f"AssertionError [ERR_ASSERTION]: {EQUAL}"),
    (1, "", "rejects", NODE, "TypeError: no database"),
    (1, "", "table > finds", NODE, f"AssertionError [ERR_ASSERTION]: {DEEP}"),
]
TSC: list[Row] = [
    (3, "", "TS2322", "a.ts", "Type 'string' is not assignable to type 'number'."),
    (1, "", "TS2305", "b.ts", "Module '\"./a\"' has no exported member 'missing'."),
]
RUFF: list[Row] = [
    (1, "", "F401", "a.py", "`os` imported but unused"),
    (1, "", "F401", "a.py", "`sys` imported but unused"),
    (1, "", "F821", "a.py", "Undefined name `undefined`"),
]
SYNTAX = ("Expected a parameter or the end of the parameter list", "unexpected EOF while parsing")
MYPY: list[Row] = [
    (1, "", "arg-type", "a.py", 'Argument 1 to "f" has incompatible type "str"; expected "int"'),
    (1, "", "call-arg", "a.py", 'Too many arguments for "f"'),
    (1, "", "import-not-found", "a.py", 'Cannot find implementation or library stub for module named "no_such_module"'),
    (2, "", "return-value", "a.py", 'Incompatible return value type (got "int", expected "str")'),
]
GO: list[Row] = [
    (1, "example.com/sums/deep", "TestAdds", "", "panic: assignment to entry in nil map"),
    (1, "example.com/sums/broken", "", "broken/broken_test.go", "undefined: undefined"),
    (1, "example.com/sums", "TestAdds", "sums_test.go", "expected 3 got 2"),
    (1, "example.com/sums", "TestTable/a_b", "sums_test.go", "expected 3 got 4"),
    (1, "example.com/sums", "TestTable/c", "sums_test.go", "expected 3 got 4"),
]
RUSTC: list[Row] = [
    (1, "", "E0308", "src/lib.rs", "mismatched types"),
    (1, "", "E0425", "src/lib.rs", "cannot find value `undefined` in this scope"),
]


def cargo(said: str, more: str, failed: str = "", behind: str = "") -> list[Row]:
    """The failures of one wording of a failed assertion."""
    library = "src/lib.rs"
    return [
        (1, "sums", "tests::fails", "", 'Error: "no database"'),
        (1, "sums", "tests::adds", library, f"{said}{failed}{more}"),
        (1, "sums", "tests::adds_more", library, f"{said}{failed and f'{failed}: more'}{more}{behind}"),
        (1, "sums (documentation)", "src/lib.rs - add", library, f"{said}{failed}{more}"),
        (1, "whole", "whole", "tests/whole.rs", "no server"),
    ]


OLD_CARGO = cargo("assertion failed: `(left == right)`", " left: `2`, right: `3`", behind=": more")
NEW_CARGO = cargo("assertion `left == right`", " left: 2 right: 3", " failed")

SHOWN: dict[str, list[Row]] = {
    "pytest-7.4.4": [UNCOLLECTED, *PYTEST],
    "pytest-9": [UNCOLLECTED, *PYTEST],
    "pytest-7.4.4-verbose": PYTEST,
    "pytest-9-verbose": PYTEST,
    "unittest-3.8": UNITTEST,
    "unittest-3.13": UNITTEST,
    "unittest-3.8-verbose": UNITTEST,
    "unittest-3.13-verbose": UNITTEST,
    "node-20-tap": TAP,
    "node-22-tap": TAP,
    "node-20-spec": [*SPEC[:2], (1, "", "rejects", NODE, "TypeError [Error]: no database"), *SPEC[3:]],
    "node-22-spec": SPEC,
    "tsc-4.9": TSC,
    "tsc-7.0": TSC,
    "tsc-4.9-pretty": TSC,
    "tsc-7.0-pretty": TSC,
    "ruff-0.4": [
        *RUFF,
        *((1, "", "E999", "b.py", f"SyntaxError: {what}") for what in SYNTAX),
        (1, "", "syntax", "b.py", SYNTAX[0]),
    ],
    "ruff-0.17": [*RUFF, *((1, "", "invalid-syntax", "b.py", what) for what in SYNTAX)],
    "ruff-0.4-format": [(1, "", "syntax", "b.py", SYNTAX[0]), (1, "", "format", "c.py", "Would reformat")],
    "ruff-0.17-format": [
        (1, "", "invalid-syntax", "b.py", SYNTAX[0]),
        (1, "", "unformatted", "c.py", "File would be reformatted"),
    ],
    "mypy-1.8": MYPY,
    "mypy-2.4": MYPY,
    "go-1.21": GO,
    "go-1.26": GO,
    "go-1.21-verbose": GO,
    "go-1.26-verbose": GO,
    "cargo-1.70": OLD_CARGO,
    "cargo-1.95": NEW_CARGO,
    "rustc-1.70": RUSTC,
    "rustc-1.95": RUSTC,
}


def recorded(name: str) -> str:
    """What a tool printed, as a check's output is."""
    return plain((OUTPUTS / f"{name}.txt").read_text(encoding="utf-8"))


def rows(output: str, **reports: bytes) -> list[Row]:
    """What is read of it."""
    files = {f"{name}.xml": content for name, content in reports.items()}
    shown = read_check("make test", 1, output, "/home/me/sums", files).failures
    return [(s.count, f.package, f.test_name, f.locus, f.signature) for s in shown for f in [s.failure]]


def test_every_recorded_output_has_its_failures() -> None:
    """No recording stands there for nothing."""
    assert {path.stem for path in OUTPUTS.glob("*.txt")} == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_the_failures_of_a_tool_are_read_one_by_one(name: str) -> None:
    """Each with its test or rule, its path, and what went wrong; the part of the output that is about it is its own."""
    assert rows(recorded(name)) == SHOWN[name]
    shown = read_check("make test", 1, recorded(name), "/home/me/sums").failures
    assert all(one.excerpt and len(one.excerpt) <= 2_000 for one in shown)


@pytest.mark.parametrize("release", ["7.4.4", "9"])
def test_a_report_of_pytest_names_what_its_output_names(release: str) -> None:
    """With the report, without it and with both it is the same failures; the report tells of all tests."""
    report, output = (OUTPUTS / f"pytest-{release}.xml").read_bytes(), recorded(f"pytest-{release}")
    assert rows("", junit=report) == rows(output) == rows(output, junit=report) == [UNCOLLECTED, *PYTEST]
    seen = read_check("pytest", 1, output, "", {"a.xml": report}).tests
    assert seen is not None
    assert f"{SUMS}::test_passes" in seen.ran
    assert seen.skipped == (f"{SUMS}::test_known", f"{SUMS}::test_later")
    assert read_check("pytest", 1, output).tests is None


@pytest.mark.parametrize(
    ("name", "ran", "skipped"),
    [
        ("pytest-9-verbose", (f"{SUMS}::test_adds", f"{SUMS}::test_passes"), (f"{SUMS}::test_later",)),
        (
            "unittest-3.8-verbose",
            ("test_sums.Sums.test_adds", "test_sums.Sums.test_passes"),
            ("test_sums.Sums.test_later",),
        ),
        (
            "unittest-3.13-verbose",
            ("test_sums.Sums.test_adds", "test_sums.Sums.test_passes"),
            ("test_sums.Sums.test_later",),
        ),
        ("node-20-tap", ("adds", "passes", "table > has"), ("later",)),
        ("node-22-spec", ("adds", "passes", "table > has"), ("later",)),
        (
            "go-1.26-verbose",
            ("example.com/sums::TestAdds", "example.com/sums::TestPasses"),
            ("example.com/sums::TestLater",),
        ),
        ("cargo-1.95", ("sums::tests::adds", "sums::tests::passes"), ("sums::tests::later",)),
    ],
)
def test_tests_that_ran_and_were_skipped_are_told_apart(
    name: str, ran: tuple[str, ...], skipped: tuple[str, ...]
) -> None:
    """Where the tool names those that pass too: by the names that failures have."""
    seen = read_check("make test", 1, recorded(name), "/home/me/sums").tests
    assert seen is not None
    assert set(ran) <= set(seen.ran)
    assert set(skipped) <= set(seen.skipped)
    assert not set(seen.ran) & set(seen.skipped)


@pytest.mark.parametrize("name", ["pytest-9", "go-1.26", "mypy-2.4", "rustc-1.95", "tsc-7.0"])
def test_a_tool_that_tells_only_of_failures_tells_no_tests(name: str) -> None:
    """Else every test that passes would seem to have vanished."""
    assert read_check("make test", 1, recorded(name)).tests is None


def test_a_tool_that_only_counts_its_tests_tells_how_many_ran() -> None:
    """Seven with one that was skipped are six; none is a number too."""
    assert read_check("make test", 1, recorded("unittest-3.13")).tests == TestsSeen(unnamed=6)
    assert read_check("make test", 0, "\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n").tests == TestsSeen(unnamed=0)


def test_the_exit_code_decides_whether_anything_failed() -> None:
    """A command that passed shows no failure, whatever it printed or left; its tests are told."""
    output, report = recorded("cargo-1.95"), (OUTPUTS / "pytest-9.xml").read_bytes()
    read = read_check("cargo test || true", 0, output, "", {"a.xml": report})
    assert read.failures == ()
    assert read.tests is not None


def test_several_tools_in_one_command_are_all_read() -> None:
    """What one of them shows hides nothing of another."""
    assert rows(recorded("ruff-0.4") + recorded("mypy-1.8") + recorded("pytest-9")) == sorted(
        [*SHOWN["ruff-0.4"], *MYPY, UNCOLLECTED, *PYTEST], key=lambda row: (row[3], row[1], row[2], row[4])
    )
