"""What a view looks like on a terminal of some width."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType


def drawn(view: RenderableType, width: int) -> str:
    """The view as text, `width` characters wide."""
    screen = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    screen.print(view)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()
