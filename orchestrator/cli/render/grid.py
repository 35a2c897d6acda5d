"""Tables that fit where they are shown: what matters least is left out, cells wrap between words, no word is broken."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

GAP = 3  # spaces between columns
COMFORTABLE = 20  # characters a line: a text wrapped to less is harder to read than one that is left out
CLIPPED = 36  # characters that are left of a text cut to one line


class Growing(Text):
    """A cell of which the end matters: `said`, then as much of the end of `words` as there is room for."""

    def __init__(self, said: str, words: str) -> None:
        super().__init__(said + words)
        self._said, self._words = said, words

    def within(self, width: int) -> Text:
        """As it is shown in so many columns of the screen."""
        room = width - cell_len(self._said)
        if self.cell_len <= width or room < 1:
            return Text(self.plain)
        kept: deque[str] = deque()
        room -= 1  # for the ellipsis
        for character in reversed(self._words):
            room -= cell_len(character)
            if room < 0:
                break
            kept.appendleft(character)
        return Text(f"{self._said}…{''.join(kept)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GridColumn:
    """A column's place and name, and its cells' width at most, at least without a broken word, and where they still
    read well."""

    at: int
    name: str
    widest: int
    least: int
    comfortable: int


class Grid:
    """A table with a header line. The columns named in `right` hold numbers; those in `drop` are left out, the first
    one first, until the others have room; those in `clip` are cut at the line's end, not wrapped."""

    def __init__(
        self,
        columns: Sequence[str],
        *,
        right: Sequence[str] = (),
        drop: Sequence[str] = (),
        clip: Sequence[str] = (),
    ) -> None:
        self._names, self._right, self._drop, self._clip = columns, right, drop, clip
        self._rows: list[list[Text]] = []

    def add_row(self, *cells: str | Text) -> None:
        """One more row: a cell for each column."""
        self._rows.append([cell if isinstance(cell, Text) else Text(cell) for cell in cells])

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        columns = self._columns()
        return Measurement(_total([c.least for c in columns]), _total([c.widest for c in columns]))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        columns = self._kept(options.max_width)
        widths = _widths(columns, options.max_width)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column, width in zip(columns, widths, strict=True):
            justify: Literal["left", "right"] = "right" if column.name in self._right else "left"
            clipped = column.name in self._clip
            table.add_column(column.name, justify=justify, width=width, overflow="ellipsis", no_wrap=clipped)
        for row in self._rows:
            table.add_row(*(_within(row[column.at], width) for column, width in zip(columns, widths, strict=True)))
        yield table

    def _columns(self) -> list[GridColumn]:
        return [self._column(at, name) for at, name in enumerate(self._names)]

    def _column(self, at: int, name: str) -> GridColumn:
        texts = [name, *(row[at].plain for row in self._rows)]
        widest = max(cell_len(line) for text in texts for line in (text.splitlines() or [""]))
        words = [word for text in ([name] if name in self._clip else texts) for word in text.split()]
        least = max(map(cell_len, words), default=0)
        comfortable = min(widest, max(least, CLIPPED if name in self._clip else COMFORTABLE))
        return GridColumn(at=at, name=name, widest=widest, least=least, comfortable=comfortable)

    def _kept(self, room: int) -> list[GridColumn]:
        columns = self._columns()
        for name in self._drop:
            if _total([column.comfortable for column in columns]) <= room:
                break
            columns = [column for column in columns if column.name != name]
        return columns


def _within(cell: Text, width: int) -> Text:
    return cell.within(width) if isinstance(cell, Growing) else cell


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _widths(columns: Sequence[GridColumn], room: int) -> list[int]:
    """What each column gets: the widest give way first, down to their longest word; below that words are cut."""
    widths = [column.widest for column in columns]
    for floors in ([column.least for column in columns], [1] * len(columns)):
        while _total(widths) > room and (loose := [at for at, width in enumerate(widths) if width > floors[at]]):
            widths[max(loose, key=lambda at: widths[at])] -= 1
    return widths
