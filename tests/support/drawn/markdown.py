"""The few forms of Markdown that drawings are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a `|` in a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def fenced(language: str, text: str) -> str:
    """A fenced block."""
    return f"```{language}\n{text.rstrip()}\n```"


def paragraphs(*parts: str) -> str:
    """Parts with an empty line between; empty ones are left out."""
    return "\n\n".join(part for part in parts if part)


def one_line(text: str | None) -> str:
    """A docstring without its line breaks."""
    return " ".join((text or "").split())


def first_sentence(text: str | None) -> str:
    """The first sentence of a docstring."""
    return one_line(text).split(". ")[0].rstrip(".") + "."


def _cell(text: str) -> str:
    return one_line(text).replace("|", r"\|")
