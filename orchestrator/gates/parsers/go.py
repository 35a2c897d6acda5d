"""go test and go vet, as they print, with and without -v."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from orchestrator.gates.parsers.told import ERROR_CHARS, MOST_TESTS, Excerpt, Outcome, Told

MARKS = ("--- FAIL: ", "--- PASS: ", "\nFAIL\t", "panic: ", ".go:")
_RESULT = re.compile(r" *--- (FAIL|PASS|SKIP): (\S+) \(")
_NOW = re.compile(r"=== (?:RUN|NAME|CONT) +(\S+)")
_PACKAGE = re.compile(r"(?:FAIL|ok)\s+(\S+)(?:\s+(.*))?$")
_COMPILED = re.compile(r"# (\S+)(?: \[\S+\])?$")
_SAID = re.compile(r"\s+([^\s:]+\.go):\d+: ?(.*)$")
_BUILD = re.compile(r"(?:vet: )?(?:\./)?([^\s:]+\.go):\d+:\d+: (.*)$")
_PANIC = re.compile(r"(panic: .*?)(?: \[recovered.*\])?$")
_OUTCOMES: dict[str, Outcome] = {"FAIL": "failed", "PASS": "passed", "SKIP": "skipped"}


@dataclass(slots=True)
class GoTest:
    """One test of the package whose end has not come yet."""

    error: list[str] = field(default_factory=list)
    locus: str = ""
    excerpt: Excerpt = field(default_factory=Excerpt)
    outcome: Outcome = "passed"
    ended: bool = False


class Package:
    """The tests since the last package ended: which it was is told after them."""

    def __init__(self) -> None:
        self._runs: dict[str, GoTest] = {}
        self._now = ""
        self._panic = ""

    def begin(self, test: str) -> None:
        """What is said from here on is this test's."""
        self._now = test

    def end(self, result: re.Match[str], line: str) -> None:
        """A test's result. Without -v what it said comes after."""
        run = self._of(result[2])
        run.outcome, run.ended, self._now = _OUTCOMES[result[1]], True, result[2]
        run.excerpt.add(line)

    def say(self, line: str) -> None:
        """What a test said, or how all of them ended."""
        run = self._of(self._now) if self._now else None
        if found := _PANIC.match(line):
            self._panic = self._panic or found[1]
            if run:
                run.error.append(found[1])
        elif run and (found := _SAID.match(line)):
            run.locus = run.locus or found[1]
            run.error.append(found[2])
        if run:
            run.excerpt.add(line)

    def _of(self, test: str) -> GoTest:
        if test not in self._runs and len(self._runs) > MOST_TESTS:
            return GoTest()
        return self._runs.setdefault(test, GoTest())

    def told(self, package: str = "", ended: str | None = None) -> Iterator[Told]:
        """What the tests told. A test whose subtests failed, and that said nothing itself, tells nothing beside them;
        a package that failed without a test tells of itself."""
        runs, self._runs = self._runs, {}
        failed = {name for name, run in runs.items() if run.outcome == "failed" and run.ended}
        parents = {name.rpartition("/")[0] for name in failed}
        for name, run in runs.items():
            if run.ended and not (name in parents and name in failed and not run.error):
                error = "\n".join(run.error)[:ERROR_CHARS]
                yield Told(
                    outcome=run.outcome,
                    name=name,
                    package=package,
                    locus=run.locus,
                    error=error,
                    excerpt=str(run.excerpt),
                )
        if ended is not None and not failed and ended != "[build failed]":
            error = self._panic or "failed without a failed test"
            yield Told(outcome="failed", package=package, error=error, rule=True)
        self._now, self._panic = "", ""


def parse_go(given: Iterable[str]) -> Iterator[Told]:
    """What go tells: tests by package, and what did not compile."""
    package, compiled = Package(), ""
    for line in given:
        if found := _RESULT.match(line):
            package.end(found, line)
        elif found := _NOW.match(line):
            package.begin(found[1])
        elif line.startswith(("FAIL\t", "ok  \t")) and (found := _PACKAGE.match(line)):
            yield from package.told(found[1], (found[2] or "") if line.startswith("FAIL") else None)
        elif found := _COMPILED.match(line):
            compiled = found[1]
        elif compiled and (found := _BUILD.match(line)):
            error = found[2]
            yield Told(outcome="failed", package=compiled, locus=found[1], error=error, excerpt=line, rule=True)
        else:
            compiled = ""
            package.say(line)
    yield from package.told()
