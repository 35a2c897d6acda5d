"""Executing a plan: which run is opened or joined, what it may touch, and how it would go (`--dry-run`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from orchestrator import __version__
from orchestrator.config.settings import BOUNDS
from orchestrator.domain.errors import PlanError, UserError
from orchestrator.domain.graph_ports import GraphReader
from orchestrator.domain.lifecycle import OPEN_RUN, TASK_ENDED
from orchestrator.domain.plan import Plan
from orchestrator.domain.progress import RunStarted, TaskLeftOut
from orchestrator.domain.run import BRANCHES, Run
from orchestrator.domain.task import Task, TaskState
from orchestrator.domain.text import counted
from orchestrator.domain.usage import Usage
from orchestrator.engine.left_out import left_out
from orchestrator.engine.loop.metering import RunMeter
from orchestrator.engine.programs import require_network
from orchestrator.engine.scheduler import Scheduler
from orchestrator.engine.services import Services
from orchestrator.gates.retry import MOST_INFRASTRUCTURE_FAILURES
from orchestrator.gates.review import MOST_REVIEWS
from orchestrator.planning.dag import with_dependencies, with_dependents, worst_case


@dataclass(frozen=True, slots=True)
class ExecuteOptions:
    """What `orchestrate execute` was asked: which tasks, how many at once, join or start anew, and the run's bounds."""

    parallel: int = 1
    keys: tuple[str, ...] = ()
    resume: bool = False
    fresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What an execution is going to do. It goes on with the `newest` run, or (not `joins`) opens one after it; `keys`
    are the tasks that it is about (None: all), `left` those of them that it leaves out, and `tasks` those that it
    executes, in plan order."""

    newest: Run | None
    joins: bool
    keys: tuple[str, ...] | None
    left: tuple[TaskLeftOut, ...]
    tasks: tuple[Task, ...]


def prepare_run(services: Services, plan: Plan, options: ExecuteOptions, home: Path) -> tuple[Scheduler, Run] | None:
    """Open or join the plan's run; None when nothing can be executed: everything wanted is completed, or left out,
    which is told, or waits for that. Raises PlanError for a plan that may not be executed and UserError for options
    that do not fit it."""
    if plan.status in ("draft", "rejected"):
        raise PlanError(
            f"Plan {plan.id} is {plan.status} and cannot be executed.",
            next_step=f"See `orchestrate show {plan.id}` and plan again.",
        )
    require_network(services, plan)
    ahead = outlook(services, plan, options)
    if options.resume and not ahead.joins:
        raise UserError(f"Plan {plan.id} has no open run to resume.", next_step="Leave --resume out to start one.")
    for each in ahead.left:
        services.listener(each)
    if not ahead.joins and not ahead.tasks:
        return None
    if ahead.joins and ahead.newest is not None:
        services = _bounded_as(services, ahead.newest)
    new = replace(_new_run(services, plan, options, ahead.newest), keys=ahead.keys or ())
    run = services.writer.open_run(new, fresh=options.fresh, leave=[each.task for each in ahead.left])
    scheduler = Scheduler(services, plan, run, RunMeter(services, run), home=home, keys=ahead.keys)
    _tell(services, plan, run, options.parallel, ahead)
    return scheduler, run


def _tell(services: Services, plan: Plan, run: Run, parallelism: int, ahead: Outlook) -> None:
    states, limits = services.reader.tasks(plan.id), services.settings.run
    shown = [state for state in states if ahead.keys is None or state.task.key in ahead.keys]
    spent = services.reader.spend(run_id=run.id) if run.joined else Usage()
    services.listener(
        RunStarted(
            at=services.clock.now(),
            run_id=run.id,
            plan_id=plan.id,
            branch=run.branch,
            tasks=tuple(state.task.key for state in shown),
            statuses=tuple(state.status for state in shown),
            parallelism=parallelism,
            sandbox_level=run.sandbox_level,
            joined=run.joined,
            bounds=bounds_in_words(services, ahead.tasks),
            tokens=spent.tokens,
            cost_usd=spent.cost_usd,
            max_tokens=limits.max_tokens,
            max_cost_usd=limits.max_cost_usd,
            deadline_s=limits.deadline_s,
        )
    )


def outlook(services: Services, plan: Plan, options: ExecuteOptions) -> Outlook:
    """What an execution with these options would do now: the dry run tells it, and prepare_run does it. Nothing is left
    out where it goes on with a run or starts all over. Raises UserError for an unknown key."""
    keys, states = wanted(plan, options.keys), services.reader.tasks(plan.id)
    newest = services.reader.newest_run(plan.id)
    joins = newest is not None and newest.status in OPEN_RUN and not options.fresh
    left: tuple[TaskLeftOut, ...] = ()
    if newest is not None and not joins and not options.fresh:
        left = left_out(services, plan, states, newest.head_commit, keys)
    over = _ended(states) if joins else _not_tried(plan, states, left, fresh=options.fresh)
    tasks = (p.task for p in plan.tasks if p.task.key not in over and (keys is None or p.task.key in keys))
    return Outlook(newest=newest, joins=joins, keys=keys, left=left, tasks=tuple(tasks))


def _ended(states: Sequence[TaskState]) -> set[str]:
    """What a run that is gone on with does not touch any more."""
    return {state.task.key for state in states if state.status in TASK_ENDED}


def _not_tried(plan: Plan, states: Sequence[TaskState], left: Sequence[TaskLeftOut], *, fresh: bool) -> set[str]:
    """What a new run does not make pending: tasks that are completed, unless it starts all over, and those that are
    rejected or left out, with everything that waits for them. Cancelled ones it does."""
    completed = {state.task.key for state in states if state.status == "completed" and not fresh}
    rejected = (state.task.key for state in states if state.status == "rejected")
    barring = [*rejected, *(each.task for each in left)]
    return completed | with_dependents([planned.task for planned in plan.tasks], barring)


def find_plan(reader: GraphReader, repository_id: str, text: str | None) -> Plan:
    """The plan of an ID, or the repository's newest. Raises UserError when there is none."""
    if text is not None:
        label, found = reader.resolve(text, repository_id)
        if label != "Plan":
            raise UserError(f"{text} is a {label}, not a plan.", next_step="`orchestrate status` names the plans.")
        return reader.plan(found)
    newest = reader.newest_plan(repository_id, status="ready") or reader.newest_plan(repository_id)
    if newest is None:
        raise UserError(
            "This repository has no plan yet.",
            next_step='Make one: `orchestrate plan "what you want"`, or load one with --file.',
        )
    return reader.plan(newest)


def wanted(plan: Plan, keys: tuple[str, ...]) -> tuple[str, ...] | None:
    """The named tasks with everything that they depend on, in plan order; None for all. Raises UserError."""
    if not keys:
        return None
    return tuple(task.key for task in with_dependencies([p.task for p in plan.tasks], keys))


def bounds_in_words(services: Services, tasks: Sequence[Task]) -> tuple[str, ...]:
    """What the tasks that are going to be executed may use at most, in words, before the run starts."""
    most = worst_case(
        tasks,
        request_factor=services.settings.guards.request_factor,
        review_budget=services.settings.budgets.verifier,
        reviews=MOST_REVIEWS,
        uncounted=MOST_INFRASTRUCTURE_FAILURES - 1,
    )
    run = services.settings.run
    where = f"{counted(most.attempts, 'attempt')} of {counted(most.tasks, 'task')}"
    calls = f"at most {counted(most.tool_calls, 'tool call')} in {where}"
    said = [f"{calls} ({most.asked:,} asked for), and {most.review_calls:,} of their reviews"]
    said += _in_words(run.max_cost_usd, run.max_tokens, run.deadline_s, run.working_time_s)
    each = _in_words(run.task_max_cost_usd, run.task_max_tokens, run.task_deadline_s, run.task_working_time_s)
    return (*said, *(f"{words} a task" for words in each))


def _in_words(
    usd: float | None, tokens: int | None, deadline_s: float | None, working_s: float | None
) -> Iterator[str]:
    if usd is not None:
        yield f"at most ${usd:,.2f}"
    if tokens is not None:
        yield f"at most {tokens:,} tokens"
    if deadline_s is not None:
        yield f"at most {timedelta(seconds=deadline_s)}"
    if working_s is not None:
        yield f"at most {timedelta(seconds=working_s)} of work"


def _bounded_as(services: Services, run: Run) -> Services:
    """The services under the run's own bounds where none is given now: a bound outlives the process it was told."""
    recorded, given = json.loads(run.settings_json).get("run", {}), services.settings.run
    kept = {name: recorded.get(name) for name in BOUNDS if getattr(given, name) is None}
    return replace(services, settings=services.settings.model_copy(update={"run": given.model_copy(update=kept)}))


def _new_run(services: Services, plan: Plan, options: ExecuteOptions, newest: Run | None) -> Run:
    """A run on the plan's base, or on what the last one has accepted."""
    run_id = services.ids.new("r")
    head = plan.base_commit if options.fresh or newest is None else newest.head_commit
    return Run(
        id=run_id,
        plan_id=plan.id,
        status="running",
        started_at=services.clock.now(),
        parallelism=options.parallel,
        settings_json=json.dumps(services.settings.model_dump(mode="json"), sort_keys=True),
        branch=f"{BRANCHES}{run_id}",
        base_commit=plan.base_commit if options.fresh or newest is None else newest.base_commit,
        head_commit=head,
        sandbox_level=services.workspaces.sandbox_level,
        version=__version__,
    )
