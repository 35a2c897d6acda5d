"""What a new run leaves out: a task that a bound has ended is not tried again as it was."""

from __future__ import annotations

import json
from collections.abc import Sequence

from orchestrator.domain.attempt import AttemptSummary
from orchestrator.domain.next_commands import retry_command
from orchestrator.domain.plan import Plan
from orchestrator.domain.progress import TaskLeftOut
from orchestrator.domain.task import TaskState
from orchestrator.engine.services import Services


def left_out(
    services: Services, plan: Plan, states: Sequence[TaskState], head: str, keys: Sequence[str] | None
) -> tuple[TaskLeftOut, ...]:
    """Of the failed tasks (of those named, if any are) the ones whose last attempt a bound stopped, if neither their
    words nor model, limits or base have changed since; a new run would begin at the commit `head`."""
    found = []
    for state in states:
        if state.status != "failed" or (keys is not None and state.task.key not in keys):
            continue
        last = services.reader.history(state.task.id)[-1]
        if last.status == "stopped" and last.stop_reason and _unchanged(services, state, last, head):
            command = retry_command(last.stop_reason, _known_as(services, plan, state), last.tool_call_budget)
            told = {"task": state.task.key, "reason": last.stop_reason, "command": command}
            found.append(TaskLeftOut(at=services.clock.now(), **told))
    return tuple(found)


def _unchanged(services: Services, state: TaskState, last: AttemptSummary, head: str) -> bool:
    """An attempt of an older release did not record every one of these: what it did not record has not changed."""
    task, settings = state.task, services.settings
    if last.prompt_hash not in (None, task.words_hash) or last.base_commit not in (None, head):
        return False
    if last.model not in ("", task.model or settings.models.worker.name):
        return False
    then = json.loads(last.limits_json)
    now = settings.guards.model_dump(mode="json")
    same = all(now[name] == limit for name, limit in then.get("guards", {}).items() if name in now)
    return same and last.tool_call_budget == task.tool_call_budget


def _known_as(services: Services, plan: Plan, state: TaskState) -> str:
    """A key is enough in the newest plan."""
    newest = services.reader.newest_plan(plan.repository.id)
    return state.task.key if newest == plan.id else state.task.id
