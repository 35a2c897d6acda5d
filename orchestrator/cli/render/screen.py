"""The console that results go to: stdout, without colour or cut cells where it is no terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Any, TextIO, cast

import click
from rich.console import Console, RenderableType
from rich.text import Text

from orchestrator.cli.render.grid import Grid
from orchestrator.cli.render.machine import print_json
from orchestrator.cli.render.text import clean

PIPE_WIDTH = 10_000  # a pipe has no width: nothing is cut or folded there
_STATUSES = {
    "green": ("completed", "accepted", "done", "passed", "ok"),
    "cyan": ("running", "awaiting_qc", "ready"),
    "red": ("failed", "stopped", "rejected", "fail"),
    "yellow": ("blocked", "interrupted", "cancelled", "warn"),
}
STATUS_STYLE = {status: colour for colour, statuses in _STATUSES.items() for status in statuses}


class Trimmed:
    """A stream without the spaces that pad the last column of a table."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write whole lines, as rich does."""
        return self._stream.write(re.sub(r" +$", "", text, flags=re.MULTILINE))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def console(*, stderr: bool = False, exact: bool = False) -> Console:
    """A console on stdout or stderr. Markup, emoji and highlighting are off: much of what is shown is a model's. A pipe
    gets no spaces at the ends of lines, but those of an `exact` text."""
    stream = sys.stderr if stderr else sys.stdout
    piped = not stream.isatty()
    return Console(
        file=cast(TextIO, Trimmed(stream)) if piped and not exact else stream,
        width=PIPE_WIDTH if piped else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def present(document: Any, view: RenderableType, *, as_json: bool) -> None:
    """A command's result on stdout: one JSON document, or as a person reads it. A text that must not be folded, because
    it is copied, is the terminal's own to wrap."""
    if as_json:
        print_json(document)
    else:
        console().print(view, crop=False)


def page(view: RenderableType) -> None:
    """A long result on stdout: exact in a pipe, on a terminal by the user's pager."""
    screen = console(exact=True)
    if not screen.is_terminal:
        return screen.print(view, soft_wrap=True)
    with screen.capture() as shown:
        screen.print(view, soft_wrap=True)
    os.environ.setdefault("LESS", "FRX")  # as git has it: in colours, and no page for what fits the screen
    return click.echo_via_pager(shown.get().removesuffix("\n"), color=screen.color_system is not None)


def status_text(status: str | None) -> Text:
    """A status in its colour."""
    return Text(clean(status or ""), style=STATUS_STYLE.get(status or "", ""))


def grid(*columns: str, right: Sequence[str] = (), drop: Sequence[str] = ()) -> Grid:
    """An empty table with a header line; the columns named in `right` hold numbers, those in `drop` are left out, the
    first one first, on a screen that is too narrow for all."""
    return Grid(columns, right=right, drop=drop)
