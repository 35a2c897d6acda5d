"""The control tools, and which calls count as executed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import pytest

from orchestrator.domain.events import CallStatus
from orchestrator.domain.tools import CONTROL_NAMES, CONTROL_TOOLS, EXECUTED_STATUSES, FINISHING_NAMES, executed


@dataclass(frozen=True)
class _Call:
    control: bool = False
    defect: str | None = None


@pytest.mark.parametrize("status", get_args(CallStatus))
def test_a_call_that_was_let_through_is_executed(status: CallStatus) -> None:
    """What runs, ended or was cut off counts; what was only asked for, refused or served does not."""
    assert executed(_Call(), status) == (status not in ("requested", "refused", "duplicate"))


@pytest.mark.parametrize("status", sorted(EXECUTED_STATUSES))
def test_control_tools_and_defects_are_never_executed(status: str) -> None:
    """Whatever their status, no tool ran."""
    assert not executed(_Call(control=True), status)
    assert not executed(_Call(defect="no such tool"), status)


def test_every_role_can_finish_by_a_control_tool() -> None:
    """The tools that end a conversation are control tools, and each belongs to one role."""
    roles = ("planner", "worker", "verifier", "decider", "reporter")
    ends = {role: {tool.name for tool in CONTROL_TOOLS if tool.ends and tool.role == role} for role in roles}
    assert ends["worker"] == {"finish_task", "give_up"}
    assert set().union(*ends.values()) == FINISHING_NAMES < CONTROL_NAMES
    assert all(ends.values()) and sum(map(len, ends.values())) == len(FINISHING_NAMES)
