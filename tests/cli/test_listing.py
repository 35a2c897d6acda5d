"""Lists of plans and runs on a screen."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from orchestrator.cli.render.listing import listing_view

RUNS = [
    {
        "run": "r7k2m9qx4a",
        "status": "interrupted",
        "plan": "p7k2m9qx4a",
        "attempts": attempts,
        "started": "2026-11-22T02:18:00.123456Z",
        "finished": None,
        "branch": "orchestrate/r7k2m9qx4a",
    }
    for attempts in (3, 12)
]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_list_has_one_line_a_row_however_narrow_the_screen(width: int) -> None:
    """Ids are whole, so that they can be pasted; what does not fit is cut at the end."""
    screen = io.StringIO()
    Console(file=screen, width=width).print(listing_view(RUNS))
    head, *lines = screen.getvalue().splitlines()
    assert head.startswith("run         status       plan")
    assert [line.split()[:3] for line in lines] == [["r7k2m9qx4a", "interrupted", "p7k2m9qx4a"]] * 2
    assert all(len(line) <= width for line in lines)


def test_an_empty_list_says_so() -> None:
    """Nothing yet is no error."""
    assert str(listing_view([])) == "None yet."
