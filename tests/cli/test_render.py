"""What a person sees: cells, narrow terminals, and commands that can be copied."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from orchestrator.cli.demo import _program
from orchestrator.cli.render.screen import grid
from orchestrator.cli.render.text import cell


def test_a_map_is_shown_as_json() -> None:
    """null and true are spelt as in --format json, not as in Python."""
    assert cell({"a": [1, None, True], "ü": "x"}) == '{"a": [1, null, true], "ü": "x"}'


def test_a_narrow_terminal_breaks_no_status() -> None:
    """At 40 columns a title folds and a status stays one word."""
    shown = grid("title", "status")
    shown.add_row("a long title of many words " * 3, "completed")
    screen = Console(file=io.StringIO(), width=40)
    screen.print(shown)
    assert isinstance(screen.file, io.StringIO)
    assert "completed" in screen.file.getvalue()


def test_commands_can_be_copied_where_we_are_not_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make demo` calls us by path, so the commands that it ends with do too."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "bin" / "orchestrate"), "demo"])
    assert _program() == str(tmp_path / "bin" / "orchestrate")
    monkeypatch.setattr(sys, "argv", ["-m"])
    assert _program() == "orchestrate"
