"""Small rules of words: which known name a wrong one was meant to be, plurals, spellings of a name, plain text."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import cache

from pydantic.alias_generators import to_camel

# Control sequences (CSI), strings up to their terminator on the same line (OSC, DCS, SOS, PM, APC), and other escapes,
# in their 7-bit and 8-bit forms. No part can match what the one behind it does: linear, because the input is hostile.
_ANSI = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]*(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]*[0-~]"
)


def plain(text: str) -> str:
    """What a program printed without the sequences by which it drives a terminal, whole. Not for the text of files or
    their changes: who reviews these must see all that is in them."""
    return _ANSI.sub("", text) if "\x1b" in text or not text.isascii() else text


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
