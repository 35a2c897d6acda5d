"""The tables of statuses: both ways of asking them agree."""

from __future__ import annotations

import pytest

from orchestrator.domain.lifecycle import TABLES, TransitionError, allowed_from, check_transition

STEPS = [(label, old, new) for label, table in TABLES.items() for old in table for new in table]


@pytest.mark.parametrize(("label", "old", "new"), STEPS)
def test_a_step_is_in_the_table_or_is_refused(label: str, old: str, new: str) -> None:
    """What a compare-and-set compares with is what a check lets through."""
    if old in allowed_from(label, new):
        check_transition(label, old, new)
    else:
        with pytest.raises(TransitionError, match=f"{label} cannot go from {old} to {new}"):
            check_transition(label, old, new)
