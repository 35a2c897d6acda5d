"""What a person sees: cells, narrow terminals, and commands that can be copied."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from orchestrator.cli.demo import _program
from orchestrator.cli.render import machine
from orchestrator.cli.render.details import diff_view
from orchestrator.cli.render.overview import status_view
from orchestrator.cli.render.screen import console, grid
from orchestrator.cli.render.tables import print_table
from orchestrator.cli.render.text import cell, clean, error_lines, spent, spent_in_all
from orchestrator.cli.render.timeline import turn_view
from orchestrator.domain.query import QueryResult
from orchestrator.domain.usage import Usage
from orchestrator.reports.status import PlanOverview
from orchestrator.reports.timeline import TimelineTurn
from tests.support.samples import new_plan


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


def test_text_is_shown_without_sequences_and_a_diff_with_every_character() -> None:
    """A title is not read as text; what a file holds between two marks stays visible to who reviews its diff."""
    assert clean("\x1b[31mred\x1b[0m\x1b]0;title\x07!") == "red!"
    hidden = "+\x1b]0;rm -rf x;\x07echo"
    assert diff_view(hidden).plain == "+\N{REPLACEMENT CHARACTER}]0;rm -rf x;\N{REPLACEMENT CHARACTER}echo"


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("E\n====\nERROR: test_a (x)\n----\nTraceback (most recent call last):\n  File x\nValueError: no\n",
         ["ERROR: test_a (x)", "ValueError: no"]),
        ("x.py:1: \x1b[31merror\x1b[0m: bad\nfine\nFound 1 error\n", ["x.py:1: error: bad", "Found 1 error"]),
        ("\n\n  got 1, want 2\n[exit code 1]", ["got 1, want 2", "[exit code 1]"]),
        ("error\n" * 9, ["error"] * 4),
        ("", []),
    ],
    ids=["unittest", "colours", "no such word", "many", "nothing"],
)  # fmt: skip
def test_the_first_lines_that_say_what_went_wrong_are_found(output: str, told: list[str]) -> None:
    """Those with a word for it; the first lines at all where none has one."""
    assert error_lines(output) == told


class Terminal(io.StringIO):
    """A stdout that is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


NASTY = QueryResult(("text",), [["\x1b]0;mine\x07\x9b2J\u202e\u007f ü,\tnew\nline"]])


@pytest.mark.parametrize(("stream", "obeyed"), [(Terminal, False), (io.StringIO, True)])
def test_json_on_a_terminal_is_escaped_and_means_the_same(
    stream: type[io.StringIO], obeyed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a model wrote cannot move the cursor or change the title; piped, text stays as it is."""
    out = stream()
    monkeypatch.setattr(sys, "stdout", out)
    machine.print_json(machine.table_objects(NASTY))
    assert json.loads(out.getvalue()) == [{"text": NASTY.rows[0][0]}]
    assert ("\x9b" in out.getvalue()) is obeyed and "ü" in out.getvalue()


@pytest.mark.parametrize(("stream", "obeyed"), [(Terminal, False), (io.StringIO, True)])
def test_csv_on_a_terminal_is_neutralised(
    stream: type[io.StringIO], obeyed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quoted cell keeps its tabs and lines; piped, it is exact."""
    out = stream()
    monkeypatch.setattr(sys, "stdout", out)
    machine.print_csv(NASTY)
    _, (cell,) = csv.reader(io.StringIO(out.getvalue(), newline=""))
    assert (cell == NASTY.rows[0][0]) is obeyed
    assert any(mark in cell for mark in "\x1b\x07\x9b\u202e\x7f") is obeyed and cell.endswith("ü,\tnew\nline")


def test_a_piped_table_has_no_spaces_at_the_ends_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last column is not padded, nor is its header; an exact text keeps what it has."""
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    print_table(QueryResult(("first", "last"), [["a", "b"], ["a long one", "a longer one"]]))
    assert out.getvalue() and not re.search(r" $", out.getvalue(), re.MULTILINE)
    console(exact=True).print("+ kept  ")
    assert out.getvalue().endswith("+ kept  \n")


def test_commands_can_be_copied_where_we_are_not_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make demo` calls us by path, so the commands that it ends with do too."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "bin" / "orchestrate"), "demo"])
    assert _program() == str(tmp_path / "bin" / "orchestrate")
    monkeypatch.setattr(sys, "argv", ["-m"])
    assert _program() == "orchestrate"


def test_what_is_reserved_stands_apart_and_an_unknown_price_is_called_so() -> None:
    """Tokens and dollars are what was used; there is no price of `$?`."""
    assert spent(9_100, 0.05) == "9.1k tokens, $0.05"
    assert spent(11_100, 0.07, 2_000, 0.02) == "9.1k (+2.0k reserved) tokens, $0.05 (+$0.02 reserved)"
    assert spent(700, None, 700) == "0 (+700 reserved) tokens, price unknown"


def test_what_tokens_were_for_stands_behind_them() -> None:
    """Cached ones and those of reasoning, where there are any."""
    assert spent(12_340, 0.05, cached=8_000, reasoning=2_100) == "12.3k tokens (8.0k cached, 2.1k reasoning), $0.05"
    assert spent(900, None, cached=0, reasoning=40) == "900 tokens (40 reasoning), price unknown"
    used = Usage(prompt_tokens=900, cached_tokens=800, completion_tokens=50, reasoning_tokens=30)
    assert spent_in_all(used) == "950 tokens (800 cached, 30 reasoning), $0.00"


@pytest.mark.parametrize(
    ("ended", "told"), [("length", "  ended: length\n"), ("tool_calls", "tokens\n"), ("", "tokens\n")]
)
def test_a_turn_says_how_it_ended_where_that_is_not_the_ordinary_way(ended: str, told: str) -> None:
    """Not of each that ended with calls, nor of one that an older release recorded."""
    turn = TimelineTurn(
        seq=1, number=1, status="replied", calls_used=0, calls_limit=9, stall_count=0, text="So", finish_reason=ended
    )
    assert told in turn_view(turn).plain
    assert "(7 reasoning)" in turn_view(replace(turn, reasoning_tokens=7)).plain


@pytest.mark.parametrize(("status", "advice"), [("ready", "execute"), ("draft", "plan again"), ("rejected", "show p1")])
def test_a_plan_without_a_run_is_told_what_fits_it(status: Any, advice: str, tmp_path: Path) -> None:
    """Only a plan that can be executed is advised to be."""
    plan = replace(new_plan(1), id="p1", status=status)
    found = PlanOverview(plan=plan, run=None, tasks=(), spend=Usage(), activity=())
    screen = Console(file=io.StringIO(), width=200)
    screen.print(status_view(found, tmp_path / "log"))
    assert isinstance(screen.file, io.StringIO)
    text = screen.file.getvalue()
    assert advice in text
    assert ("orchestrate execute" in text) == (status == "ready")


def test_what_is_no_number_is_null_in_json() -> None:
    """JSON has neither NaN nor infinity; a program that reads `NaN` fails."""
    assert machine.json_ready({"a": [math.nan, math.inf, -math.inf, 0.0]}) == {"a": [None, None, None, 0.0]}
