"""JSON with the line of every place, and keys given twice seen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from orchestrator.planning.formats.yaml_source import MAX_DEPTH
from orchestrator.planning.source import DocumentPath, PlanSource, Problem

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\],]|[^\s{}\[\],:"]+', re.DOTALL)


def parse_json(text: str) -> PlanSource:
    """The document with its lines. What is no JSON becomes one problem of the whole file."""
    try:
        _check_depth(text)
        document = json.loads(text, parse_constant=_refuse_constant, parse_int=_int)
    except json.JSONDecodeError as error:
        return PlanSource.refused(f"cannot be read as JSON: {error.msg} at column {error.colno}", error.lineno)
    except (ValueError, RecursionError) as error:
        return PlanSource.refused(f"cannot be read as JSON: {str(error)[:200]}", None)
    places = list(_places(text))
    lines = dict(reversed(places))  # of a key given twice the first
    return PlanSource(document, lines, tuple(_twice(places)))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _int(digits: str) -> int:
    if len(digits) > 300:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def _check_depth(text: str) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")


def _places(text: str) -> Iterator[tuple[DocumentPath, int]]:
    """(place, line) of every key and list entry of a text that is known to be JSON."""
    stack: list[str | int] = []  # per open container the current key, or the current index
    line, end, wants_key = 1, 0, False
    for match in _TOKEN.finditer(text):
        mark, line, end = match[0], line + text.count("\n", end, match.start()), match.start()
        if mark in "}]":
            stack.pop()
            wants_key = False
        elif mark == ",":
            top = stack[-1]
            wants_key = isinstance(top, str)
            stack[-1] = top + 1 if isinstance(top, int) else top
        elif wants_key:
            stack[-1], wants_key = json.loads(mark), False
            yield tuple(stack), line
        else:
            if stack and isinstance(stack[-1], int):
                yield tuple(stack), line
            if mark in "{[":
                stack.append("" if mark == "{" else 0)
                wants_key = mark == "{"


def _twice(places: list[tuple[DocumentPath, int]]) -> Iterator[Problem]:
    seen: set[DocumentPath] = set()
    for place, line in places:
        if place in seen and isinstance(place[-1], str):
            yield Problem(place, line, "is given twice")
        seen.add(place)
