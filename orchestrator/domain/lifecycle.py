"""The only place that knows which status may follow which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

TaskStatus = Literal["pending", "running", "awaiting_qc", "completed", "failed", "rejected", "blocked", "cancelled"]
AttemptStatus = Literal[
    "running", "awaiting_qc", "accepted", "rejected", "stopped", "failed", "interrupted", "cancelled"
]
RunStatus = Literal["running", "completed", "failed", "cancelled", "interrupted"]
PlanStatus = Literal["draft", "ready", "rejected", "done"]

TASK: Mapping[str, frozenset[str]] = {
    "pending": frozenset({"running", "rejected", "blocked", "cancelled"}),
    "running": frozenset({"awaiting_qc", "pending", "failed", "cancelled"}),
    "awaiting_qc": frozenset({"completed", "pending", "failed", "cancelled"}),
    "completed": frozenset({"pending"}),  # by `execute --fresh`, a new run from the plan's base, or `review --reopen`
    "failed": frozenset({"pending"}),
    "blocked": frozenset({"pending", "cancelled"}),
    "rejected": frozenset({"pending", "cancelled"}),
    "cancelled": frozenset({"pending"}),
}
ATTEMPT: Mapping[str, frozenset[str]] = {
    "running": frozenset({"awaiting_qc", "stopped", "failed", "interrupted", "cancelled"}),
    "awaiting_qc": frozenset({"accepted", "rejected", "stopped", "failed", "interrupted", "cancelled"}),
    **dict.fromkeys(("accepted", "rejected", "stopped", "failed", "interrupted", "cancelled"), frozenset()),
}
RUN: Mapping[str, frozenset[str]] = {
    "running": frozenset({"completed", "failed", "cancelled", "interrupted"}),
    "interrupted": frozenset({"running", "cancelled"}),
    "failed": frozenset({"interrupted"}),  # a task of it was retried: whoever executes the plan next goes on with it
    "completed": frozenset(),
    "cancelled": frozenset(),
}
TABLES: Mapping[str, Mapping[str, frozenset[str]]] = {"Task": TASK, "Attempt": ATTEMPT, "Run": RUN}

TASK_ENDED: frozenset[str] = frozenset({"completed", "failed", "rejected", "blocked", "cancelled"})
RETRIED: frozenset[str] = frozenset({"pending", "failed", "cancelled"})
"""What a person may have tried again; what is pending already only gets what is added."""
OPEN_RUN: frozenset[str] = frozenset({"running", "interrupted"})


class TransitionError(ValueError):
    """A status change that the table does not have."""


def allowed_from(label: str, target: str) -> list[str]:
    """The statuses from which `target` may be entered: what a compare-and-set compares with."""
    return sorted(status for status, nexts in TABLES[label].items() if target in nexts)


def check_transition(label: str, current: str, target: str) -> None:
    """Raise TransitionError unless `current -> target` is in the table of `label`."""
    if target not in TABLES[label].get(current, frozenset()):
        raise TransitionError(
            f"{label} cannot go from {current} to {target}; allowed: {sorted(TABLES[label][current])}"
        )
