"""Reports in JUnit's XML, as pytest and most test runners write them.

A report comes from code that nobody trusts. It is read as a stream, element by element, so that neither its depth nor
its size costs more than its tests; one that declares a document type could define entities, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.parsers import expat

from orchestrator.gates.parsers.pytest import Traceback
from orchestrator.gates.parsers.told import ERROR_CHARS, MOST_TESTS, Outcome, Told, lines

_TEXT_CHARS = 16_000
_CHUNK = 65_536
_OUTCOMES: Mapping[str, Outcome] = {"failure": "failed", "error": "failed", "skipped": "skipped"}


class _RefusedError(Exception):
    """The report is not one that is read."""


def read_junit(content: bytes) -> tuple[Told, ...]:
    """The tests of a report; none of one that is no XML, declares a document type, or has too many of them."""
    report = _Report()
    text = content.decode("utf-8", "replace")
    try:
        for begin in range(0, len(text), _CHUNK):
            report.parser.Parse(text[begin : begin + _CHUNK])
        report.parser.Parse("", True)  # noqa: FBT003  the end of the text
    except (expat.ExpatError, _RefusedError, ValueError):
        return ()
    return tuple(report.told)


@dataclass
class _Result:
    """What stands in a test that did not pass: the last part of a long text, where the error is."""

    outcome: Outcome
    message: str
    kind: str
    text: str = ""


class _Report:
    """The tests that were read so far."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self._test: Mapping[str, str] | None = None
        self._result: _Result | None = None
        self._inside = ""
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._refuse

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "testcase":
            self._test, self._result = attributes, None
        elif self._test is not None and name in _OUTCOMES:
            message, kind = attributes.get("message", ""), attributes.get("type", "")
            self._result, self._inside = _Result(_OUTCOMES[name], message[:ERROR_CHARS], kind), name

    def _text(self, text: str) -> None:
        if self._result and self._inside:
            self._result.text = (self._result.text + text)[-_TEXT_CHARS:]

    def _end(self, name: str) -> None:
        if name == self._inside:
            self._inside = ""
        elif name == "testcase" and self._test is not None:
            if len(self.told) > MOST_TESTS:
                raise _RefusedError
            self.told.append(_told(self._test, self._result))
            self._test = self._result = None

    def _refuse(self, *_declared: object) -> None:
        raise _RefusedError


def _told(test: Mapping[str, str], result: _Result | None) -> Told:
    name, locus = _name(test), test.get("file", "")
    if result is None or result.outcome != "failed":
        return Told(outcome=result.outcome if result else "passed", name=name, locus=locus)
    section = Traceback()
    for line in lines(result.text):
        section.add(line)
    error = section.error or result.message
    if not section.error and result.kind and not error.startswith(result.kind):
        error = f"{result.kind}: {error}"
    return Told(outcome="failed", name=name, locus=locus, error=error, excerpt=str(section.excerpt))


def _name(test: Mapping[str, str]) -> str:
    """As pytest names it (`file::class::test`) where the file is told, else `class::test`. What could not be collected
    is named by its file."""
    file, place, name = test.get("file", ""), test.get("classname", ""), test.get("name", "")
    module = file.removesuffix(".py").replace("/", ".")
    if not file:
        return "::".join(filter(None, (place, name)))
    if not place and name == module:
        return file
    classes = place.removeprefix(module).strip(".").split(".") if place.startswith(module) else [place]
    return "::".join(filter(None, (file, *classes, name)))
