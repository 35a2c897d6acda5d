"""What a new run leaves out: a task that a bound has ended is not tried again as it was."""

from __future__ import annotations

import json
from collections.abc import Sequence

from orchestrator.domain.attempt import AttemptSummary
from orchestrator.domain.next_commands import retry_command
from orchestrator.domain.plan import Plan
from orchestrator.domain.progress import TaskLeftOut
from orchestrator.domain.task import TaskState
from orchestrator.engine.attempt.resume import ground_of
from orchestrator.engine.services import Services
from orchestrator.gates.convergence import Ground


def left_out(
    services: Services, plan: Plan, states: Sequence[TaskState], head: str, keys: Sequence[str] | None
) -> tuple[TaskLeftOut, ...]:
    """Of the failed tasks (of those named, if any are) the ones whose last attempt a bound stopped, or whose attempts
    came no nearer to an end, if neither their words nor model, limits, paths or base have changed since (nor, where QC
    rejected them over and over, QC's model); a new run would begin at the commit `head`."""
    found = []
    for state in states:
        if state.status != "failed" or (keys is not None and state.task.key not in keys):
            continue
        last = services.reader.history(state.task.id)[-1]
        reason = _ended_by(state, last)
        if reason and _unchanged(services, state, last, head):
            command = retry_command(reason, _known_as(services, plan, state), last.tool_call_budget)
            told = {"task": state.task.key, "reason": reason, "command": command}
            found.append(TaskLeftOut(at=services.clock.now(), **told))
    return tuple(found)


def _ended_by(state: TaskState, last: AttemptSummary) -> str | None:
    """The code of the end that nothing but a change can alter."""
    if state.stop_reason in ("not_converging", "review_not_converging"):
        return state.stop_reason
    return last.stop_reason if last.status == "stopped" else None


def _unchanged(services: Services, state: TaskState, last: AttemptSummary, head: str) -> bool:
    """An attempt of an older release did not record every one of these: what it did not record has not changed."""
    if Ground.of(last).changes(ground_of(services, state.task, head)):
        return False
    if state.stop_reason == "review_not_converging" and _reviewed_by_another(services, last):
        return False
    if last.status == "rejected":
        return True
    then = json.loads(last.limits_json)
    now = services.settings.guards.model_dump(mode="json")
    return all(now[name] == limit for name, limit in then.get("guards", {}).items() if name in now)


def _reviewed_by_another(services: Services, last: AttemptSummary) -> bool:
    """Whether QC's model is another one than that which rejected the attempt."""
    review = services.reader.review_of(last.id)
    return review is not None and review.model != services.settings.models.verifier.name


def _known_as(services: Services, plan: Plan, state: TaskState) -> str:
    """A key is enough in the newest plan."""
    newest = services.reader.newest_plan(plan.repository.id)
    return state.task.key if newest == plan.id else state.task.id
