"""The tools that the engine itself answers, and which calls count as executed: both are defined here alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

ToolRole = Literal["planner", "worker", "verifier", "decider", "reporter"]
"""Whose conversation: the decider is the planner's model in its one-turn decision about a request for more, the
reporter QC's in its one turn about a task that ran out."""


@dataclass(frozen=True, slots=True)
class ControlTool:
    """A tool whose effect is the engine's: free of the budget, never served from an earlier call. One that `ends` the
    conversation is left when the others are withheld."""

    name: str
    role: ToolRole
    ends: bool = False


CONTROL_TOOLS = (
    ControlTool("report_progress", "worker"),
    ControlTool("request_budget", "worker"),
    ControlTool("request_scope", "worker"),
    ControlTool("finish_task", "worker", ends=True),
    ControlTool("give_up", "worker", ends=True),
    ControlTool("submit_plan", "planner", ends=True),
    ControlTool("submit_review", "verifier", ends=True),
    ControlTool("submit_decision", "decider", ends=True),
    ControlTool("submit_report", "reporter", ends=True),
)

CONTROL_NAMES = frozenset(tool.name for tool in CONTROL_TOOLS)
FINISHING_NAMES = frozenset(tool.name for tool in CONTROL_TOOLS if tool.ends)
"""What is left when tools are withheld."""

EXECUTED_STATUSES = frozenset({"running", "ok", "error", "interrupted"})
"""Of a call that was let through: it runs, it ended, or it was cut off and nobody knows how far it came."""


class AskedCall(Protocol):
    """What must be known of a call to tell whether it counts."""

    @property
    def control(self) -> bool:
        """Its tool is in CONTROL_TOOLS."""

    @property
    def defect(self) -> str | None:
        """Why it cannot be executed: an unknown tool, or arguments that do not parse or validate. None: it can."""


def executed(call: AskedCall, status: str) -> bool:
    """Whether the call counts as executed and uses budget, in this status (CallStatus): its tool ran, runs, or may have
    run before a crash. Control tools, calls with a defect, and those that were only asked for, refused or answered by
    an earlier one are not executed."""
    return not call.control and call.defect is None and status in EXECUTED_STATUSES


def executes(call: AskedCall, duplicate_of: int | None) -> bool:
    """Whether a call that is about to begin will count; `duplicate_of` is the seq of the call that answers it."""
    return executed(call, "running" if duplicate_of is None else "duplicate")
