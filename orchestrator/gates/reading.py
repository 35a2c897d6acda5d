"""What a check's output says: which failures it shows, and which tests ran.

The whole output is read, line by line, by each parser that finds its marks in it. Reports in JUnit's XML name tests
better than any text; what the text names beside them counts too. A failed command of which nothing can be read has one
failure of its own, so that an equal one is known again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from orchestrator.domain.failure import Failure, ShownFailure, TestsSeen
from orchestrator.domain.normalise import FINGERPRINT_CHARS, normalise
from orchestrator.gates.parsers import cargo, compilers, go, node, pytest, unittest
from orchestrator.gates.parsers.junit import read_junit
from orchestrator.gates.parsers.told import EXCERPT_CHARS, LINE_CHARS, MOST_TESTS, Told, lines
from orchestrator.gates.tally import Tally, test_name

_TAIL_LINES = 200
_NAMES_CHARS = 10_000_000
NO_REPORTS: Mapping[str, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Parser:
    """How one tool's output is read, if one of the marks is in it. Some tools tell of all tests, others leave out those
    that pass unless they are asked."""

    parse: Callable[[Iterable[str]], Iterator[Told]]
    marks: tuple[str, ...]
    tells_all: bool = False


PARSERS = (
    Parser(pytest.parse_pytest, pytest.MARKS),
    Parser(unittest.parse_unittest, unittest.MARKS),
    Parser(node.parse_node_spec, node.SPEC_MARKS, tells_all=True),
    Parser(node.parse_tap, node.TAP_MARKS, tells_all=True),
    Parser(go.parse_go, go.MARKS),
    Parser(cargo.parse_cargo, cargo.MARKS, tells_all=True),
    Parser(compilers.parse_tsc, compilers.TSC_MARKS),
    Parser(compilers.parse_mypy, compilers.MYPY_MARKS),
    Parser(compilers.parse_ruff, compilers.RUFF_MARKS),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a check's output says. `tests` is None where the tool tells none."""

    failures: tuple[ShownFailure, ...]
    tests: TestsSeen | None


class _Tests:
    """The tests that were told of."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._skipped: dict[str, bool] = {}
        self._told = False
        self._chars = 0

    def add(self, told: Told, tells_all: bool) -> None:
        """One more, if it is one."""
        if told.rule or not told.name:
            return
        self._told = self._told or tells_all or told.outcome == "passed"
        name = test_name(told.name, self._root)
        if len(self._skipped) <= MOST_TESTS and self._chars <= _NAMES_CHARS:
            self._chars += len(name)
            self._skipped[f"{told.package}::{name}" if told.package else name] = told.outcome == "skipped"

    def seen(self, counted: int | None) -> TestsSeen | None:
        """All of them, else as many as were counted, and nothing where some are missing."""
        if not self._told and counted is not None:
            return TestsSeen(unnamed=counted)
        if not self._told or len(self._skipped) > MOST_TESTS or self._chars > _NAMES_CHARS:
            return None
        ran = sorted(name for name, skipped in self._skipped.items() if not skipped)
        return TestsSeen(tuple(ran), tuple(sorted(name for name, skipped in self._skipped.items() if skipped)))


def read_check(
    command: str, exit_code: int | None, output: str, root: str = "", reports: Mapping[str, bytes] = NO_REPORTS
) -> Reading:
    """What the output of a command that ended by itself says, without the sequences that drive a terminal. `root` is
    the absolute path of the workspace, `reports` are the files that the command left. The exit code decides whether it
    failed: one that passed shows no failure."""
    tally, tests = Tally(command, root), _Tests(root)
    for told, tells_all in _all_told(output, reports):
        tests.add(told, tells_all)
        if told.outcome == "failed" and exit_code != 0:
            tally.add(told)
    shown = tuple(tally.shown())
    if exit_code != 0 and not shown:
        shown = (unread_failure(command, exit_code, output, root),)
    return Reading(shown, tests.seen(unittest.tests_counted(output)))


def unread_failure(command: str, exit_code: int | None, output: str, root: str = "") -> ShownFailure:
    """The failure of a command in whose output nothing can be read: its exit code, and how the output ends."""
    signature = f"exit {exit_code}: {_tail(output, root)}"
    return ShownFailure(Failure.of(command, signature=signature), 1, output[-EXCERPT_CHARS:])


def _all_told(output: str, reports: Mapping[str, bytes]) -> Iterator[tuple[Told, bool]]:
    """What reports and output tell, and whether who tells it tells all tests. What a report calls a failure is not
    counted again where the output names it too."""
    named: set[str] = set()
    for name in sorted(reports):
        for told in read_junit(reports[name]) if name.endswith(".xml") else ():
            if told.outcome == "failed":
                named.add(told.name)
            yield told, True
    for parser in PARSERS:
        if any(mark in output for mark in parser.marks):
            for told in parser.parse(lines(output)):
                if told.name not in named or told.rule:
                    yield told, parser.tells_all


def _tail(output: str, root: str) -> str:
    """The end of an output without its noise, which is the same however long the output is."""
    kept: deque[str] = deque()
    length, end = 0, len(output)
    while end > 0 and length < FINGERPRINT_CHARS and len(kept) < _TAIL_LINES:
        begin = output.rfind("\n", 0, end) + 1
        line = normalise(output[max(begin, end - LINE_CHARS) : end], root)
        kept.appendleft(line)
        length += len(line) + 1
        end = begin - 1
    return " ".join(filter(None, kept))[-FINGERPRINT_CHARS:]
