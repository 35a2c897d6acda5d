"""What a person may order of a task: judged here, in words, before the graph is asked to do it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from orchestrator.domain.errors import UserError
from orchestrator.domain.graph_ports import GraphReader
from orchestrator.domain.lifecycle import RETRIED
from orchestrator.domain.task import Retry, TaskState

LONGEST_NOTE = 8_000
"""Characters."""
_BARRING = ("failed", "cancelled", "rejected", "blocked")


def retry_of(
    reader: GraphReader,
    states: Sequence[TaskState],
    key: str,
    *,
    id_: str,
    at: datetime,
    note: str | None = None,
    budget: int | None = None,
    model: str | None = None,
    from_tree: str | None = None,
) -> Retry:
    """The retry of the task with this key among its plan's; `budget` is in tool calls, `from_tree` the id of one of its
    attempts, or the beginning of the id of a tree that one left. Raises UserError for what cannot be retried, or not
    so."""
    by_key = {state.task.key: state for state in states}
    state = by_key[key]
    _refuse(state, [by_key[needed] for needed in state.task.depends_on])
    if note is not None and len(note) > LONGEST_NOTE:
        raise UserError(
            f"The note has {len(note):,} characters; at most {LONGEST_NOTE:,} are told.",
            next_step="Shorten it, or put the text into a file of the repository and name that.",
        )
    base, tree = _beginning(reader, state, from_tree) if from_tree is not None else (None, None)
    return Retry(
        id=id_,
        task_id=state.task.id,
        task_key=key,
        at=at,
        note=note,
        tool_call_budget=budget,
        model=model,
        from_tree=tree,
        from_base=base,
    )


def _refuse(state: TaskState, needed: Sequence[TaskState]) -> None:
    barring = next((other for other in needed if other.status in _BARRING), None)
    if barring is not None:
        raise UserError(
            f"{state.task.key} waits for {barring.task.key}, which is {barring.status}.",
            next_step=f"Retry that first: `orchestrate retry {barring.task.id}`.",
        )
    if state.status in RETRIED:
        return
    way_out = {
        "completed": "Its work is on the run's branch; to change it, make a plan of its own.",
        "rejected": "Pre-flight refused it: split it and plan again.",
    }
    live = f"To have it begin again, cancel it first: `orchestrate cancel {state.task.id}`."
    raise UserError(f"{state.task.key} is {state.status}.", next_step=way_out.get(state.status, live))


def _beginning(reader: GraphReader, state: TaskState, text: str) -> tuple[str, str]:
    """The commit and the tree that a text means. What lies in between is carried onto the run's head, which nobody
    could do with a tree of unknown origin."""
    found = reader.trees_of_task(state.task.id, text) if text else ()
    if not found:
        raise UserError(
            f"No attempt at {state.task.key} has left a tree {text!r}.",
            next_step=f"Give an attempt's id, or a tree's: `orchestrate show {state.task.id}` lists the attempts.",
        )
    if len(found) > 1:
        raise UserError(f"{text!r} is the beginning of {len(found)} trees of {state.task.key}.", next_step="Give more.")
    tree, base = found[0]
    return base, tree
