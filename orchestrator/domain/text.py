"""Small rules of words: which known name a wrong one was meant to be, plurals, spellings of a name."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from heapq import nlargest
from itertools import islice
from unicodedata import category

from pydantic.alias_generators import to_camel


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest of the known names, else nothing."""
    folded = {candidate.lower().replace("_", "").replace("-", ""): candidate for candidate in known}
    wanted = name[:100].lower().replace("_", "").replace("-", "")
    found = difflib.get_close_matches(wanted, folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[found[0]]!r}?" if found else ""


_LONGEST = 200
_MOST = 5_000
_COMPARED = 20


def closest(wanted: str, candidates: Iterable[str], most: int = 1) -> list[str]:
    """The candidates that are nearly the wanted text, the nearest first. Comparing two takes up to the product of their
    lengths, and more: so only short ones are, and of the first few thousand only those with the most letters in common,
    which takes no time."""
    short = wanted[:_LONGEST]
    letters = Counter(short)

    def in_common(candidate: str) -> float:
        return (letters & Counter(candidate)).total() / (len(short) + len(candidate))

    looked_at = (each for each in islice(candidates, _MOST) if 0 < len(each) <= _LONGEST)
    return difflib.get_close_matches(short, nlargest(_COMPARED, looked_at, key=in_common), n=most)


def counted(number: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def one_paragraph(text: str, most: int) -> str:
    """The text in one line of at most so many characters, without what a terminal would obey or reads backwards: a
    commit's message is shown by other programs than ours, and a line of its own in it may pass for a trailer."""
    words = " ".join(text.split())[:most]
    return "".join(char if category(char) not in ("Cc", "Cf", "Cs") else "\N{REPLACEMENT CHARACTER}" for char in words)


def in_a_row(words: Sequence[str]) -> str:
    """`1`, `1 and 2`, `1, 2 and 3`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


camel = cache(to_camel)
"""`tree_after` as `treeAfter`: a field's name as the graph and machine output spell it."""
