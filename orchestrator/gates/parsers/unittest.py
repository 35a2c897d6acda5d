"""unittest: the sections of failures and errors, and the lines of --verbose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from orchestrator.gates.parsers.told import ERROR_CHARS, Excerpt, Told

MARKS = ("=====\nFAIL: ", "=====\nERROR: ", "=====\r\nFAIL: ", "=====\r\nERROR: ", " ... ok", " ... skipped")
_TITLE = re.compile(r"(?:FAIL|ERROR): (\S+) \(([\w.<>]+)\)(.*)$")
_TEST = re.compile(r"(\S+) \(([\w.<>]+)\)")
_FILE = re.compile(r' +File "([^"]+)", line ')
_RAN = re.compile(r"^Ran (\d{1,9}) tests? in [\d.]+s$", re.MULTILINE)
_SKIPPED = re.compile(r"^(?:OK|NO TESTS RAN|FAILED) \(.{0,80}?skipped=(\d{1,9})", re.MULTILINE)
_RULE = "=" * 70
_LINE = "-" * 70


class FailedTest:
    """One failure's section; its error is what stands behind the last frame of its traceback."""

    def __init__(self, name: str, line: str) -> None:
        self._name = name
        self._excerpt = Excerpt(line)
        self._error: list[str] = []
        self._locus = ""
        self._began = self._in_output = False

    def add(self, line: str) -> None:
        """The section's next line."""
        self._excerpt.add(line)
        self._in_output = self._in_output or line in ("Stdout:", "Stderr:")
        if found := _FILE.match(line):
            self._locus = self._locus or found[1]
            self._error = []
        elif line.startswith("Traceback ") or (line == _LINE and not self._began):
            self._began, self._error = True, []
        elif not line.startswith(("    ", _LINE)) and not self._in_output:
            self._error.append(line.strip())

    def told(self) -> Told:
        """What the section tells."""
        error = "\n".join(self._error)[:ERROR_CHARS]
        return Told(outcome="failed", name=self._name, locus=self._locus, error=error, excerpt=str(self._excerpt))


def parse_unittest(given: Iterable[str]) -> Iterator[Told]:
    """What unittest tells."""
    section: FailedTest | None = None
    before = ""
    for line in given:
        if section and (line == _RULE or (before == _LINE and line.startswith("Ran "))):
            yield section.told()
            section = None
        elif before == _RULE and (found := _TITLE.match(line)):
            section = FailedTest(_named(found[1], found[2]) + found[3].rstrip(), line)
        elif section:
            section.add(line)
        else:
            yield from _verbose(line, before)
        before = line
    if section:
        yield section.told()


def tests_counted(output: str) -> int | None:
    """How many tests ran by the lines in which it counts them; None where there is none."""
    ran = _RAN.findall(output)
    return max(sum(map(int, ran)) - sum(map(int, _SKIPPED.findall(output))), 0) if ran else None


def _named(test: str, place: str) -> str:
    """`module.Class.test`: releases before 3.11 name the class alone in brackets."""
    return place if place.endswith(f".{test}") else f"{place}.{test}"


def _verbose(line: str, before: str) -> Iterator[Told]:
    """`test (class) ... ok`; where a test has a docstring, its name stands in the line before."""
    head, _, word = line.rpartition(" ... ")
    found = head and (_TEST.match(head.rpartition(" ... ")[2]) or _TEST.match(before))
    if found and (word in ("ok", "expected failure") or word.startswith("skipped")):
        yield Told(outcome="passed" if word == "ok" else "skipped", name=_named(found[1], found[2]))
