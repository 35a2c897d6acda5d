"""What a parser gives, and the lines that it is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

LINE_CHARS = 2_000
"""Of a line that is longer no more is read: output is hostile, and patterns look at a line more than once."""
ERROR_CHARS = 4_000
"""Of an error's message no more is kept: many times what a signature has."""
EXCERPT_CHARS = 2_000
MOST_TESTS = 50_000
"""Tests that are told one by one; of more nothing is told."""
MOST_PARTS = 5_000
"""Parts of an output that a parser keeps until it knows which test they are about."""
_EXCERPT_LINES = 40
_LINE = re.compile(r"[^\r\n]+")

Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One thing that a tool tells of: a test, else (`rule`) a rule that is broken or what does not compile. `name`
    stays the same from run to run and is empty where there is none; `error` is the error's class and message as they
    were printed, `excerpt` the part of the output that is about it."""

    outcome: Outcome
    name: str = ""
    package: str = ""
    locus: str = ""
    error: str = ""
    excerpt: str = ""
    rule: bool = False


def lines(output: str) -> Iterator[str]:
    """The lines that hold anything, one after the other, each cut to what is looked at."""
    return (found.group()[:LINE_CHARS] for found in _LINE.finditer(output))


class Excerpt:
    """The last lines of one part of an output."""

    __slots__ = ("_lines",)

    def __init__(self, *first: str) -> None:
        self._lines = list(first)  # a deque of forty takes more room than most excerpts

    def add(self, line: str) -> None:
        """One line more."""
        self._lines.append(line)
        if len(self._lines) > 2 * _EXCERPT_LINES:
            del self._lines[:_EXCERPT_LINES]

    def __str__(self) -> str:
        return "\n".join(self._lines[-_EXCERPT_LINES:])[-EXCERPT_CHARS:]
