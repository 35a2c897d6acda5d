"""Fenced blocks of Markdown files, and how the console blocks among them are compared with what a command prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_DRAWN = re.compile(r"<!-- drawn: .*?<!-- end -->", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: its file, language and text, the second-level heading above it and its line in the file."""

    page: Path
    language: str
    text: str
    section: str
    line: int

    @property
    def place(self) -> str:
        """Where it stands, for a test's name."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def name(self) -> str:
        """The file that the block stands for, named by its first line (`# plan.yaml`)."""
        return self.text.splitlines()[0].removeprefix("# ")


def blocks(page: Path) -> tuple[Block, ...]:
    """All fenced blocks of a file, in order, but those that are drawn from the code."""
    text = page.read_text(encoding="utf-8")
    drawn = [found.span() for found in _DRAWN.finditer(text)]
    return tuple(
        Block(page, found[1], found[2], _section(text[: found.start()]), text[: found.start()].count("\n") + 1)
        for found in _FENCE.finditer(text)
        if not any(first < found.start() < last for first, last in drawn)
    )


def _section(before: str) -> str:
    headings = _HEADING.findall(before)
    return headings[-1] if headings else ""


@dataclass(frozen=True)
class Step:
    """One command of a console block and the lines that it shows; `…` in a line stands for any text, alone for any
    lines. A command without lines only has to succeed."""

    command: str
    shown: tuple[str, ...]


def steps(block: Block) -> Iterator[Step]:
    """The commands of a console block (`$ command`), each with what follows it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        yield Step(command, tuple(shown))


def missing_line(step: Step, output: str) -> str | None:
    """The first line that the output does not have in its place; None when all are there. White space counts as one
    blank, empty lines and rules under table headings are left out."""
    lines = [_squeezed(line) for line in output.splitlines() if line.strip(" ─")]
    position = 0
    gap = False
    for wanted in step.shown:
        if wanted.strip() == "…":
            gap = True
            continue
        pattern = re.compile(re.escape(_squeezed(wanted)).replace("…", ".*"))
        rest = range(position, len(lines) if gap else min(position + 1, len(lines)))
        found = next((at for at in rest if pattern.fullmatch(lines[at])), None)
        if found is None:
            return wanted
        position, gap = found + 1, False
    return None


def _squeezed(text: str) -> str:
    return " ".join(text.split())
