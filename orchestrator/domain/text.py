"""Small rules of words: which known name a wrong one was meant to be, plurals, spellings of a name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache

from pydantic.alias_generators import to_camel


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest of the known names, else nothing."""
    folded = {candidate.lower().replace("_", "").replace("-", ""): candidate for candidate in known}
    wanted = name[:100].lower().replace("_", "").replace("-", "")
    found = difflib.get_close_matches(wanted, folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[found[0]]!r}?" if found else ""


def counted(number: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


camel = cache(to_camel)
"""`tree_after` as `treeAfter`: a field's name as the graph and machine output spell it."""
