"""cargo test, and what rustc and clippy say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from orchestrator.gates.parsers.told import ERROR_CHARS, MOST_PARTS, MOST_TESTS, Excerpt, Outcome, Told

MARKS = ("\ntest ", " panicked at ", "\nerror[E", "\nerror: ", " stdout ----")
_TARGET = re.compile(r" *Running (?:unittests )?(\S+) \((?:\S*/)?([\w-]+?)-[0-9a-f]{16}\S*\)$")
_DOCTESTS = re.compile(r" *Doc-tests (\S+)$")
_TEST = re.compile(r"test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b")
_SECTION = re.compile(r"---- (.+) (?:stdout|stderr) ----$")
_PANICKED = re.compile(r"thread '.*' (?:\(\d+\) )?panicked at ([^\s':]+):\d+:\d+:$")
_PANICKED_OLD = re.compile(r"thread '.*' panicked at '(.*)$")
_OLD_END = re.compile(r"', (\S+?):\d+:\d+$")
_LINE = re.compile(r" \(line (\d+)\)")
_ERROR = re.compile(r"error(?:\[(\w+)\])?: (.*)$")
_AT = re.compile(r" *--> (.+?):\d+:\d+$")
_OUTCOMES: dict[str, Outcome] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


@dataclass
class Said:
    """What one test printed: its error stands between the panic and the stack."""

    excerpt: Excerpt
    error: list[str] = field(default_factory=list)
    locus: str = ""
    _over: bool = False

    def add(self, line: str) -> None:
        """Its next line."""
        self.excerpt.add(line)
        if found := _PANICKED.match(line):
            self.locus, self.error = found[1], []
        elif line.startswith("thread '") and (found := _PANICKED_OLD.match(line)):
            self.error = []
            self._take(found[1])
        elif line.startswith(("stack backtrace:", "note: ", "failures:")):
            self._over = True
        elif not self._over:
            self._take(line)

    def _take(self, text: str) -> None:
        """A line of the error; the older form has the place behind it."""
        if found := _OLD_END.search(text):
            self.locus = found[1]
            text = text[: found.start()]
        self.error.append(text.strip())


class Binary:
    """The tests of one test binary."""

    def __init__(self, package: str = "") -> None:
        self._package = package
        self._outcomes: dict[str, Outcome] = {}
        self._said: dict[str, Said] = {}

    def result(self, test: str, outcome: Outcome) -> None:
        """One test's result."""
        if len(self._outcomes) <= MOST_TESTS:
            self._outcomes[test] = outcome

    def section(self, test: str, line: str) -> Said:
        """What a failed test printed follows."""
        self.result(test, "failed")
        said = Said(Excerpt(line))
        return said if len(self._said) > MOST_PARTS else self._said.setdefault(test, said)

    def told(self) -> Iterator[Told]:
        """What the tests told. A documentation test is named by the line where it begins: by its number among those of
        one item it stays the same when lines are added above it."""
        numbers: dict[str, int] = {}
        for test in sorted(self._outcomes, key=_by_line):
            name = _LINE.sub("", test)
            numbers[name] = numbers.get(name, 0) + 1
            said = self._said.get(test, Said(Excerpt()))
            yield Told(
                outcome=self._outcomes[test],
                name=name if numbers[name] == 1 else f"{name} ({numbers[name]})",
                package=self._package,
                locus=said.locus,
                error="\n".join(said.error)[:ERROR_CHARS],
                excerpt=str(said.excerpt),
            )


def parse_cargo(given: Iterable[str]) -> Iterator[Told]:
    """What cargo test tells by test binary, and what rustc and clippy say of a place."""
    binary, said, error = Binary(), None, None
    for line in given:
        if found := _TARGET.match(line) or _DOCTESTS.match(line):
            yield from binary.told()
            name = found[2] if found.re is _TARGET else f"{found[1]} (documentation)"
            binary, said = Binary(name), None
        elif found := _TEST.match(line):
            binary.result(found[1], _OUTCOMES[found[2]])
        elif found := _SECTION.match(line):
            said = binary.section(found[1], line)
        elif line.startswith("test result: "):
            yield from binary.told()
            binary, said = Binary(), None
        elif said:
            said.add(line)
        elif error and (found := _AT.match(line)):
            excerpt = f"{error.string}\n{line}"
            name = error[1] or ""
            yield Told(outcome="failed", name=name, locus=found[1], error=error[2], excerpt=excerpt, rule=True)
            error = None
        else:
            error = _ERROR.match(line)
    yield from binary.told()


def _by_line(test: str) -> tuple[str, int]:
    found = _LINE.search(test)
    return _LINE.sub("", test), int(found[1]) if found else 0
