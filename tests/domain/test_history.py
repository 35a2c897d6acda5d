"""Default budgets from history, and idle time between spans of work."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.usage_limits import idle_s
from orchestrator.planning.complexity import budget_from_history

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("calls", "own", "budget"),
    [
        ([], 20, 20),
        ([3, 3, 3, 3], 20, 20),
        ([3, 3, 3, 3, 3], 20, 10),
        ([3, 3, 3, 3, 11], 20, 15),
        ([15] * 9, 20, 15),
        ([16] * 9, 20, 20),
        ([90] * 9, 50, 50),
        ([*[12] * 19, 49], 50, 25),
        ([*[31] * 19, 49], 50, 35),
        ([1] * 5, 1, 1),
    ],
)
def test_a_default_budget_is_what_95_percent_of_accepted_attempts_needed(
    calls: list[int], own: int, budget: int
) -> None:
    """Nearest rank, rounded up to 5, at least half of the band's budget and never more; under 5 attempts the band's."""
    assert budget_from_history(calls, own) == budget


@given(st.lists(st.integers(0, 500), max_size=40), st.integers(1, 200))
def test_history_never_raises_a_budget_nor_halves_it_twice(calls: list[int], own: int) -> None:
    """Whatever the history, the budget stays between half of the band's and the band's."""
    assert own / 2 <= budget_from_history(calls, own) <= own


@pytest.mark.parametrize(
    ("spans", "idle"),
    [
        ([], 100),
        ([(0, 100)], 0),
        ([(10, 20), (30, 40)], 80),
        ([(10, 40), (20, 30)], 70),
        ([(30, 60), (10, 40)], 50),
        ([(0, 120)], 0),
    ],
)
def test_idle_time_is_what_no_span_covers(spans: list[tuple[int, int]], idle: int) -> None:
    """Overlaps count once, gaps and both ends count as idle."""
    at = [(START + timedelta(seconds=a), START + timedelta(seconds=b)) for a, b in spans]
    assert idle_s(at, START, START + timedelta(seconds=100)) == idle
