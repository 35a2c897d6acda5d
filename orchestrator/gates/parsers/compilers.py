"""Compilers, type checkers and linters that tell a place, a rule and a message in one line or two: mypy and its like,
tsc, ruff."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from orchestrator.gates.parsers.told import Told

MYPY_MARKS = (": error:",)
TSC_MARKS = ("error TS",)
RUFF_MARKS = ("Found ", " --> ", "Would reformat: ", "unformatted: ")
_PLACE = re.compile(r"([^\s:][^:]*)(?::\d+){0,4}$")
_CODE = re.compile(r"(.*\S) +\[([\w-]+)\]$")
_TSC = re.compile(r"(?:(\S.*?)(?:\(\d+,\d+\)|:\d+:\d+)(?::| -) )?error (TS\d+): (.*)$")
_RUFF = re.compile(r"(\S.*?):\d+:\d+: ([A-Z]{1,6}\d{2,5}|[a-z]+-[a-z-]+|SyntaxError):? (?:\[\*\] )?(.*)$")
_RULE = re.compile(r"([A-Z]{1,6}\d{2,5}|(?!error:|warning:|note:|help:)[a-z][a-z-]*(?=:)):? (?:\[\*\] )?(.+)$")
_AT = re.compile(r" *--> (.+?):\d+:\d+$")
_PARSED = re.compile(r"error: Failed to parse (.+?):\d+:\d+: (.*)$")
_FORMAT = re.compile(r"Would reformat: (.+)$")


def _broken(*, name: str, locus: str, error: str, excerpt: str) -> Told:
    return Told(outcome="failed", name=name, locus=locus, error=error, excerpt=excerpt, rule=True)


def parse_mypy(given: Iterable[str]) -> Iterator[Told]:
    """What mypy tells, and each compiler that says `path:line: error: message`."""
    for line in given:
        place, error, text = line.partition(": error: ")
        if error and (found := _PLACE.match(place)):
            code = _CODE.match(text) if text.endswith("]") else None
            message, name = (code[1], code[2]) if code else (text, "")
            yield _broken(name=name, locus=found[1], error=message, excerpt=line)


def parse_tsc(given: Iterable[str]) -> Iterator[Told]:
    """What tsc tells, plain or pretty."""
    for line in given:
        if "error TS" in line and (found := _TSC.match(line)):
            yield _broken(name=found[2], locus=found[1] or "", error=found[3], excerpt=line)


def parse_ruff(given: Iterable[str]) -> Iterator[Told]:
    """What ruff tells, in one line (as flake8 does) or with the place in the line after; and what it would format."""
    before = ""
    for line in given:
        if found := _AT.match(line):
            if rule := _RULE.match(before):
                excerpt = f"{before}\n{line}"
                yield _broken(name=rule[1], locus=found[1], error=rule[2], excerpt=excerpt)
        elif found := _RUFF.match(line):
            yield _broken(name=found[2], locus=found[1], error=found[3], excerpt=line)
        elif found := _PARSED.match(line):
            yield _broken(name="syntax", locus=found[1], error=found[2], excerpt=line)
        elif found := _FORMAT.match(line):
            yield _broken(name="format", locus=found[1], error="Would reformat", excerpt=line)
        before = line
