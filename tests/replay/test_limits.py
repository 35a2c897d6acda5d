"""The limits of a replay, as a file has them."""

from __future__ import annotations

import pytest

from orchestrator.domain.errors import UserError
from orchestrator.guards.limits import GuardLimits
from orchestrator.replay.replay import (
    parse_limits,
)


def test_limits_are_read_at_the_top_or_in_a_guards_table() -> None:
    """parse_limits: both places, and the budget beside them."""
    for toml in ("thrash_stop = 7\nbudget = 30", "[guards]\nthrash_stop = 7\nbudget = 30"):
        parsed = parse_limits(toml)
        assert (parsed.limits.thrash_stop, parsed.budget) == (7, 30)
    assert parse_limits("").limits == GuardLimits()


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("budget_warnings = [nan, 2.0]", "budget_warnings"),
        ("budget_warnings = [0.95, 0.8]", "budget_warnings"),
        ("budget_warnings = [0.0]", "budget_warnings"),
        ("budget_warnings = [0.5, 1.5]", "budget_warnings"),
        ("repetition_stopp = 4", "'repetition_stopp'; did you mean 'repetition_stop'"),
        ("[guards]\nxyzzy = 1", "'xyzzy'"),
        ("repetition_stop = 'many'", "repetition_stop = 'many'"),
        ("stall_batches = 1", "stall_batches = 1"),
        ("budget = 0", "budget = 0"),
        ("budget = true", "budget = True"),
        ("guards = 3", "must be a table"),
        ("a = = 1", "no TOML"),
    ],
)
def test_limits_that_are_wrong_are_named(toml: str, said: str) -> None:
    """Bad input: one message with the key, its value, and the nearest known key."""
    with pytest.raises(UserError) as caught:
        parse_limits(toml)
    assert said in caught.value.message
