"""What can be pasted into a shell after an end: commands with their values filled in."""

from __future__ import annotations

import math
import shlex

from orchestrator.domain.lifecycle import RETRIED, TaskStatus
from orchestrator.domain.stop_reasons import in_words

_MORE_CALLS = frozenset({"budget_exhausted", "request_limit", "turn_limit", "no_progress"})
_ANOTHER_WAY = frozenset(
    {"loop_detected", "same_error", "stalled", "thrashing", "out_of_scope", "context_exhausted", "gave_up"}
    | {"not_converging"}
)
_MODEL = frozenset({"no_action", "malformed_calls", "review_error", "model_error"})
_MORE = 1.5  # times the budget that was not enough


def next_commands(
    code: str, status: TaskStatus, *, plan: str, task: str, budget: int, task_code: str | None = None
) -> tuple[str, ...]:
    """What to paste after an attempt's end with this stop code, in order, where its task has this status and ended with
    `task_code`, if it has; nothing where nothing is to be done. `task` is the id or key by which the command line knows
    the task, `budget` was the attempt's in tool calls."""
    if status not in RETRIED:
        return ()
    code = task_code if task_code in _ANOTHER_WAY else code
    looks = ("orchestrate doctor --model",) if code in _MODEL else ()
    goes_on = execute_command(plan) if status == "pending" else retry_command(code, task, budget)
    return (*looks, goes_on)


def execute_command(plan: str) -> str:
    """`orchestrate execute`, which goes on with what is left of a plan."""
    return shlex.join(["orchestrate", "execute", plan])


def retry_command(code: str | None, task: str, budget: int) -> str:
    """`orchestrate retry` with what must change after an attempt's end with this stop code."""
    words = ["orchestrate", "retry", task]
    if code in _MORE_CALLS:
        words += ["--budget", str(math.ceil(budget * _MORE))]
    elif code in _ANOTHER_WAY:
        words += ["--note", f"Take another way than the one that ended as: {in_words(code)}."]
    return shlex.join(words)
