"""A task's words: what an attempt was told to do, and is judged by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.domain.task import Task
from tests.support.samples import new_task

TASK = new_task("p1", 1, [])


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Another"},
        {"prompt": "Do it otherwise."},
        {"acceptance_criteria": ("It sells",)},
        {"edge_cases": ("An empty shop",)},
        {"verification": ("false",)},
        {"verification_criteria": {"security": ("no secrets", "no eval")}},
        {"note": "Try harder."},
    ],
    ids=lambda change: next(iter(change)),
)
def test_other_words_are_another_attempt(change: dict[str, Any]) -> None:
    """Whatever the worker is told, and whatever QC judges."""
    changed: Task = replace(TASK, **change)
    assert changed.words_hash != TASK.words_hash


def test_the_same_words_under_other_bounds_are_the_same_attempt() -> None:
    """Budget and model are compared on their own."""
    assert replace(TASK, tool_call_budget=99, model="m2").words_hash == TASK.words_hash
