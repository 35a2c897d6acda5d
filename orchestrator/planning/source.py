"""A plan's document as a parser hands it over: values, lines, and what the parser itself found wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DocumentPath = tuple[str | int, ...]
"""Where in the document: ("tasks", 2, "verification", 0)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What a parser found wrong: a key twice, an unreadable value."""

    place: DocumentPath
    line: int | None
    message: str


@dataclass(frozen=True, slots=True)
class PlanSource:
    """A parsed document: plain values, the line of every place, and what the parser itself has to report."""

    document: Any
    lines: Mapping[DocumentPath, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    left_out: tuple[str, ...] = ()
    """Parts of a Markdown file that no field of a plan takes, for a notice."""
    unreadable: bool = False
    """Nothing could be parsed: the problems are all there is to say."""

    @classmethod
    def refused(cls, message: str, line: int | None) -> PlanSource:
        """A text of which nothing could be parsed."""
        return cls({}, problems=(Problem((), line, message),), unreadable=True)


def value_of(document: Any, name: str) -> Any:
    """A field of a raw mapping; None for whatever is no mapping."""
    return document.get(name) if isinstance(document, Mapping) else None


def entries_of(document: Any, name: str) -> Sequence[Any]:
    """A field of a raw mapping that is a list; empty for whatever is none."""
    value = value_of(document, name)
    return value if isinstance(value, (list, tuple)) else ()
