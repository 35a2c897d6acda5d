"""Texts and values of strangers: neither their length nor their depth may cost more than they are worth."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.nesting import nests_deeper
from orchestrator.domain.text import closest, one_paragraph


def test_the_nearest_of_many_lines_is_found() -> None:
    """As difflib finds it, the nearest first."""
    lines = ["", "return a + b", "    def add(a, b):", "x" * 60_000]
    assert closest("def add(a, c):", lines) == ["    def add(a, b):"]
    assert closest("return a - b", lines) == ["return a + b"]
    assert closest("nothing like it 12345", lines) == closest("", lines) == []


def test_long_lines_are_not_compared() -> None:
    """Two lines of 60,000 characters that nearly agree took minutes, past every bound."""
    assert closest("ab" * 30_000, ["ab" * 29_999 + "c"]) == []
    assert closest("ab" * 90, ["ba" * 90] * 5_000) == ["ba" * 90]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Add a route\n\nSigned-off-by: Somebody <s@example>", "Add a route Signed-off-by: Somebody <s@example>"),
        ("\x1b[31mred\x07", "\ufffd[31mred\ufffd"),
        ("abc\u202egnp.exe", "abc\ufffdgnp.exe"),
        ("Füge 音 an", "Füge 音 an"),
        ("x" * 100, "x" * 20),
    ],
)
def test_a_text_for_other_programs_is_one_plain_line(text: str, shown: str) -> None:
    """`git log` shows it as it is, and takes a line of its own for a trailer."""
    assert one_paragraph(text, 20 if text.startswith("xx") else 200) == shown


@pytest.mark.parametrize(("value", "deeper"), [(1, False), ([[1]], False), ([[[1]]], True), ({"a": {"b": [1]}}, True)])
def test_depth_is_counted_without_recursion(value: Any, deeper: bool) -> None:
    """Two levels are allowed here; a hundred thousand end no process."""
    assert nests_deeper(value, 2) is deeper
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert nests_deeper(deep, 2)
