"""Rows of Markdown as texts and lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

Rows = Sequence[tuple[int, str]]
"""(line, text) of each row."""

LABEL = re.compile(r"([ \t]*)(?:[-*+][ \t]+)?\*\*([^*]{1,80}?)(?::\*\*|\*\*[ \t]*:)[ \t]*(.*)$")
FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]?\][ \t]*)?(.*)$")
_NOTHING = frozenset({"", "none", "n/a", "na", "-", "–", "—", "[]", "nil"})


def first_paragraph(rows: Rows) -> list[tuple[int, str]]:
    """Up to the first empty line after some text."""
    kept: list[tuple[int, str]] = []
    for line, row in rows:
        if row.strip():
            kept.append((line, row))
        elif kept:
            break
    return kept


def prose(rows: Rows) -> str:
    """The rows as text, without the marks of a quotation and the indentation that all share."""
    lines = [re.sub(r"^[ \t]*>[ \t]?", "", row).rstrip() for _, row in rows]
    while lines and not lines[0].strip():
        lines.pop(0)
    return "\n".join(lines).strip()


def entries(name: str, rows: Rows) -> list[tuple[int, str]]:
    """(line, text) of each entry: the label's own line parted at commas, then one per item or line below it."""
    found: list[tuple[int, str]] = []
    for at, (line, row) in enumerate(rows):
        inline = at == 0 and name != "verification"
        found += [(line, text) for text in (split(row) if inline else items([(line, row)]))]
    return found


def items(rows: Rows) -> Iterator[str]:
    """The entries of a Markdown list or of a comma-separated line, without bullets and fences."""
    for _, row in rows:
        text = (match[1] if (match := _ITEM.match(row)) else row).strip()
        if not FENCE.match(row) and text.lower().strip(".") not in _NOTHING:
            yield text


def split(row: str) -> list[str]:
    """Parted at the commas and semicolons outside of brackets, quotes and code."""
    text, ends, depth, quote = row.strip(), [-1], 0, ""
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    for at, char in enumerate(text):
        if quote or char in '`"':
            quote = "" if char == quote else quote or char
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(char, 0) if not quote else 0
        if char in ",;" and depth <= 0 and not quote:
            ends.append(at)
    parts = (text[begin + 1 : end] for begin, end in pairwise([*ends, len(text)]))
    return list(items([(0, part) for part in parts]))
