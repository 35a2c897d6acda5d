"""node:test, in its own words (spec) and in TAP, which others print too."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from orchestrator.gates.parsers.told import ERROR_CHARS, MOST_PARTS, Excerpt, Told

SPEC_MARKS = ("\u2714 ", "\u2716 ")
TAP_MARKS = ("not ok ", "\nok ")
_SPEC = re.compile(r"( *)([\u2714\u2716\ufe63]) (.+?)(?: \([\d.]+ms\))?( #.*)?$")
_SUITE = re.compile(r"( *)\u25b6 (.+?)(?: \([\d.]+ms\))?$")
_FAILING = "\u2716 failing tests:"
_AT = re.compile(r"test at (.+?):\d+:\d+$")
_TAP = re.compile(r"( *)(ok|not ok)\b(?: \d+)?(?: -)?(?: ([^#\s].*?))?(?:\s+# ?(SKIP|TODO)\b.*)?$", re.IGNORECASE)
_SUBTEST = re.compile(r"( *)# Subtest: (.*)$")
_FIELD = re.compile(r" *(location|failureType|error|code|name): (.*)$")
_NESTED = " > "
_MOST_LINES = 200
"""Of what is told of one test."""
_DEEPEST = 20
_TITLE_CHARS = 200
"""Of one suite around others: a name has them all."""


def parse_node_spec(given: Iterable[str]) -> Iterator[Told]:
    """What the spec reporter tells. Its tree has the names with the suites around them, what failed and where stands
    below it, without the suites, in the same order."""
    failed: dict[str, deque[str]] = defaultdict(deque)
    suites: list[str] = []
    below: list[str] = []
    for line in given:
        if below or line == _FAILING:
            if len(below) < _MOST_LINES:
                below.append(line)
            if len(below) > 1 and line.startswith("test at "):
                yield from _below([part for part in below[1:] if part is not line], failed)
                below = [_FAILING, line]
        elif found := _SUITE.match(line):
            suites[min(len(found[1]) // 2, _DEEPEST) :] = [found[2][:_TITLE_CHARS]]
        elif found := _SPEC.match(line):
            yield from _leaf(found, suites, failed)
    yield from _below(below[1:], failed)
    yield from (Told(outcome="failed", name=name) for names in failed.values() for name in names)


def _leaf(found: re.Match[str], suites: list[str], failed: dict[str, deque[str]]) -> Iterator[Told]:
    depth, mark, title = len(found[1]) // 2, found[2], found[3]
    if suites[depth : depth + 1] == [title[:_TITLE_CHARS]]:
        del suites[depth:]  # the end of a suite, which tells nothing that its tests have not told
        return
    name = _NESTED.join([*suites[:depth], title])
    if mark == "\u2716":
        if len(failed) <= MOST_PARTS and len(failed[title]) <= MOST_PARTS:
            failed[title].append(name)
    else:
        yield Told(outcome="passed" if mark == "\u2714" and not found[4] else "skipped", name=name)


def _below(part: list[str], failed: dict[str, deque[str]]) -> Iterator[Told]:
    """One test of those below the tree: its place, its name, its error down to the stack."""
    place = _AT.match(part[0]) if part else None
    found = _SPEC.match(part[1]) if len(part) > 1 else None
    if not place or not found:
        return
    names = failed.get(found[3])
    error: list[str] = []
    for line in part[2:]:
        if line.startswith("      at "):
            break
        error.append(line.strip())
    yield Told(
        outcome="failed",
        name=names.popleft() if names else found[3],
        locus=place[1],
        error="\n".join(filter(None, error))[:ERROR_CHARS],
        excerpt=str(Excerpt(*part)),
    )


@dataclass
class Point:
    """One `not ok`, and what its block says about it."""

    name: str
    depth: int
    excerpt: Excerpt
    fields: dict[str, str] = field(default_factory=dict)
    _in_error: bool = False

    def add(self, line: str) -> None:
        """The next line of its block."""
        self.excerpt.add(line)
        found = _FIELD.match(line)
        indent = len(line) - len(line.lstrip())
        if found and indent <= self.depth + 2:
            self._in_error = found[1] == "error" and found[2].startswith("|")
            self.fields[found[1]] = "" if self._in_error else found[2].strip("'\"")
        elif indent <= self.depth + 2:
            self._in_error = False
        elif self._in_error:
            self.fields["error"] = f"{self.fields['error']}\n{line.strip()}"[:ERROR_CHARS].strip()

    def told(self) -> Iterator[Told]:
        """What it tells: nothing of a suite, whose tests have told it."""
        if self.fields.get("failureType") != "subtestsFailed":
            kind, text = self.fields.get("name", ""), self.fields.get("error", "")
            error = f"{kind}: {text}" if kind and text else kind or text
            locus = re.sub(r":\d+:\d+$", "", self.fields.get("location", ""))
            yield Told(outcome="failed", name=self.name, locus=locus, error=error, excerpt=str(self.excerpt))


def parse_tap(given: Iterable[str]) -> Iterator[Told]:
    """What TAP tells; subtests are named with those around them, as node:test indents them."""
    around: list[str] = []
    point: Point | None = None
    for line in given:
        if found := _SUBTEST.match(line):
            around[min(len(found[1]) // 4, _DEEPEST) :] = [found[2][:_TITLE_CHARS]]
        elif found := _TAP.match(line):
            if point:
                yield from point.told()
                point = None
            name = _NESTED.join([*around[: len(found[1]) // 4], found[3] or ""])
            if found[4] or found[2] == "ok":
                yield Told(outcome="skipped" if found[4] else "passed", name=name)
            else:
                point = Point(name, len(found[1]), Excerpt(line))
        elif point:
            point.add(line)
    if point:
        yield from point.told()
