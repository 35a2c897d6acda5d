"""pytest, as it prints: the sections of failures and errors, the short summary, the lines of --verbose."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator

from orchestrator.gates.parsers.told import ERROR_CHARS, MOST_PARTS, Excerpt, Outcome, Told

MARKS = (" failed", " error", "= FAILURES =", "= ERRORS =", "= short test summary info =", "::")
_SECTION = re.compile(r"=+ (.+) =+$")
_TITLE = re.compile(r"_+ (.+) _+$")
_TITLED = re.compile(r"(?:ERROR (?:at (?:setup|teardown) of|collecting)) ")
_ERROR = re.compile(r"E {3}(.*)$")
_VERBOSE = re.compile(r"(.*::.*) (PASSED|SKIPPED|XFAIL|XPASS)(?: \(.*\))? +\[ *\d+%\]$")
_PARALLEL = re.compile(r"\[gw\d+\] \[ *\d+%\] (PASSED|SKIPPED|XFAIL|XPASS) (.*::.*)$")
_SUMMARY = re.compile(r"(?:FAILED|ERROR|SUBFAILED(?:\([^)]*\)|\[[^\]]*\])*) (\S.*)$")
_END = re.compile(r"(?:=+ )?(\d+ [a-z]+(?:, \d+ [a-z]+)*) in [\d.]+s(?: \([\d:]+\))?(?: =+)?$")
_COUNTED = re.compile(r"(\d{1,9}) (?:failed|errors?)\b")
_SHORT = "short test summary info"
_OUTCOMES: dict[str, Outcome] = {"PASSED": "passed", "XPASS": "passed", "SKIPPED": "skipped", "XFAIL": "skipped"}


class Traceback:
    """One failure's section; its error is the last run of lines that begin with E."""

    def __init__(self, line: str = "") -> None:
        self.excerpt = Excerpt(*filter(None, [line]))
        self._error: list[str] = []
        self._going_on = False

    def add(self, line: str) -> None:
        """The section's next line."""
        self.excerpt.add(line)
        found = _ERROR.match(line)
        if found:
            self._error = [*(self._error if self._going_on else ()), found[1].strip()]
        self._going_on = found is not None

    @property
    def error(self) -> str:
        """The error's class and message, empty where the section has none."""
        return "\n".join(self._error)[:ERROR_CHARS]


Sections = dict[tuple[str, str], deque[Traceback]]
"""The failures of each section by their titles, in order: several files may have a test of one name."""


def parse_pytest(given: Iterable[str]) -> Iterator[Told]:
    """What pytest tells. Of more failures than it names, as its last line counts them, the number is told: one that is
    hidden is one too."""
    ends: list[int] = []
    named = 0
    for told in _parts(_counting(given, ends)):
        named += told.outcome == "failed"
        yield told
    if sum(ends) > named:
        yield Told(outcome="failed", error=f"{sum(ends) - named} more, which it does not name", rule=True)


def _counting(given: Iterable[str], ends: list[int]) -> Iterator[str]:
    """The lines as they come; how many failures a last line counts joins `ends`."""
    for line in given:
        if " in " in line and (found := _END.match(line)):
            ends.append(sum(int(number) for number in _COUNTED.findall(found[1])))
        yield line


def _parts(given: Iterable[str]) -> Iterator[Told]:
    """What is named: a failure by the summary, whose error stands in its section, by a shorter title."""
    sections: Sections = defaultdict(deque)
    section, kept = "", 0
    current: Traceback | None = None
    for line in given:
        if line[0] == "=" and (found := _SECTION.match(line)):
            section, current = found[1].strip("= "), None
        elif section in ("FAILURES", "ERRORS"):
            if line[0] == "_" and (found := _TITLE.match(line)):
                current, kept = Traceback(line), kept + 1
                if kept > MOST_PARTS:
                    continue
                sections[section, _TITLED.sub("", found[1], count=1)].append(current)
            elif current:
                current.add(line)
        elif section == _SHORT and (found := _SUMMARY.match(line)):
            yield _failed(found[1], "ERRORS" if line.startswith("ERROR") else "FAILURES", sections)
        elif line.endswith("%]") or line.startswith("[gw"):
            yield from _verbose(line)
    yield from (_unnamed(title, part) for (_, title), parts in sections.items() for part in parts)


def split_summary(text: str) -> tuple[str, str]:
    """The id and the message of the summary's `id - message`; an id may hold a dash itself, in brackets."""
    name, _, message = text.partition(" - ")
    if "[" in name and not name.endswith("]"):
        inner, closed, after = text.partition("] - ")
        return (f"{inner}]", after) if closed else (text, "")
    return name, message


def _failed(summary: str, section: str, sections: Sections) -> Told:
    name, message = split_summary(summary)
    path, _, inside = name.partition("::")
    title = inside.replace("::", ".", inside.partition("[")[0].count("::")) or path
    parts = sections.get((section, title))
    told = parts.popleft() if parts else Traceback()
    error = told.error or message.removesuffix("...")
    return Told(outcome="failed", name=name, locus=path, error=error, excerpt=str(told.excerpt) or summary)


def _unnamed(title: str, told: Traceback) -> Told:
    """A section that the summary does not name, or one without a summary."""
    return Told(outcome="failed", name=title, error=told.error, excerpt=str(told.excerpt))


def _verbose(line: str) -> Iterator[Told]:
    if found := _VERBOSE.match(line):
        yield Told(outcome=_OUTCOMES[found[2]], name=found[1])
    elif found := _PARALLEL.match(line):
        yield Told(outcome=_OUTCOMES[found[1]], name=found[2])
