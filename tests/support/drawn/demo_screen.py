"""The demo's screen, drawn of the progress that a run of it has logged.

tests/data/demo_progress.log has the lines of one run. tests/cli/test_demo.py compares what is drawn of them with what
is drawn of the run that it has made, so the picture in the README is that of the demo as it is.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from orchestrator.cli.demo import FOLDER
from orchestrator.cli.render.brief import Brief, farewell, introduction, look_further
from orchestrator.domain import progress as p

LOG = Path(__file__).resolve().parents[2] / "data" / "demo_progress.log"
WIDTH = 80
_TOLD = re.compile(r"orchestrator\.progress (\w+) (\{.*\})$", re.MULTILINE)


def told(log: str) -> Iterator[p.Progress]:
    """The progress in a log's lines; what guards said is left out, for it is nested."""
    for name, fields in _TOLD.findall(log):
        if name != "GuardSpoke":
            yield getattr(p, name)(**{key: _value(key, value) for key, value in json.loads(fields).items()})


def _value(key: str, value: Any) -> Any:
    if key == "at":
        return datetime.fromisoformat(value)
    return tuple(value) if isinstance(value, list) else value


def draw_demo(events: Sequence[p.Progress], screen: Console) -> None:
    """Print what `orchestrate demo` leaves on the screen."""
    brief = Brief()
    screen.print(Text(introduction(FOLDER)))
    for event in events:
        if (line := brief(event)) is not None:
            screen.print(Text(line))
    screen.print("", brief.ending(), sep="\n")
    screen.print(Text(f"{look_further(FOLDER, 'orchestrate')}\n\n{farewell('orchestrate')}"))


def demo_text(events: Sequence[p.Progress], width: int) -> str:
    """The screen as text, `width` characters wide."""
    screen = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    draw_demo(events, screen)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def demo_picture() -> str:
    """The screen of the logged run as an SVG."""
    screen = Console(file=io.StringIO(), width=WIDTH, highlight=False, markup=False, record=True, force_terminal=True)
    screen.print(Text("$ orchestrate demo", style="bold"))
    draw_demo(list(told(LOG.read_text())), screen)
    return screen.export_svg(title="orchestrate demo", unique_id="demo")
