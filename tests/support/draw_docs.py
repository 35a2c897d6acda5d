"""Draws what the documents take from the code: `python -m tests.support.draw_docs` writes it anew.

A drawing stands in its document between `<!-- drawn: NAME -->` and `<!-- end -->`; docs/settings.md is drawn as a
whole, and so is the picture of the demo's screen. tests/test_docs.py fails while one of them is not current.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from orchestrator.config.docs import settings_reference
from tests.support.drawn import cli, guards, layers, plan_file, queries, stop_reasons, tools
from tests.support.drawn.demo_screen import demo_picture
from tests.support.lifecycle_diagram import states

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "docs" / "settings.md"
_REGION = re.compile(r"(<!-- drawn: ([\w -]+) -->\n).*?(<!-- end -->)", re.DOTALL)

DRAWINGS: Mapping[str, Callable[[], str]] = {
    "attempt stops": stop_reasons.attempt_stops,
    "task stops": stop_reasons.task_stops,
    "queries": queries.all_saved,
    "overview": cli.overview,
    "global options": cli.global_options,
    "commands": cli.commands,
    "error codes": cli.error_codes,
    "rooms": layers.rooms,
    "bans": layers.bans,
    "tools": tools.roles,
    "events": guards.vocabulary,
    **{f"guard {name}": partial(guards.sheet, name) for name in guards.SHEETS},
    **{f"plan file {part}": partial(plan_file.fields, part) for part in ("plan", "task", "criteria", "check")},
    **{f"states {label}": partial(states, label) for label in ("Task", "Attempt", "Run")},
}


PICTURES: Mapping[Path, Callable[[], str]] = {ROOT / "docs" / "demo.svg": demo_picture}
"""What is drawn as a whole beside the documents."""


def documents() -> tuple[Path, ...]:
    """Every document of the repository that is ours to write."""
    top = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "orchestrator/README.md", "agents/README.md")
    return (*(ROOT / name for name in top), *sorted((ROOT / "docs").glob("*.md")))


def redrawn(document: Path) -> str:
    """The document with everything that is drawn in it drawn anew."""
    if document == SETTINGS:
        return settings_reference()
    text = document.read_text(encoding="utf-8")
    return _REGION.sub(lambda found: f"{found[1]}{DRAWINGS[found[2]]()}\n{found[3]}", text)


def names(document: Path) -> list[str]:
    """The drawings that a document has."""
    return [found[2] for found in _REGION.finditer(document.read_text(encoding="utf-8"))]


def main() -> int:
    """Write every document anew, and name those that changed."""
    for document in documents():
        text = redrawn(document)
        if text != document.read_text(encoding="utf-8"):
            document.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{document.relative_to(ROOT)}\n")
    for path, draw in PICTURES.items():
        path.write_text(draw(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
