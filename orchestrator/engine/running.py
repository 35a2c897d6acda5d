"""Executing a plan: which run is opened or joined, what it may touch, and how it would go (`--dry-run`)."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import networkx as nx

from orchestrator import __version__
from orchestrator.domain.errors import PlanError, UserError
from orchestrator.domain.lifecycle import OPEN_RUN
from orchestrator.domain.progress import RunStarted
from orchestrator.domain.records import Plan, Run, TaskState
from orchestrator.engine.parts import Parts
from orchestrator.engine.purse import Purse
from orchestrator.engine.scheduler import RunOutcome, Scheduler


@dataclass(frozen=True, slots=True)
class ExecuteOptions:
    """What `orchestrate execute` was asked: which tasks, how many at once, join or start anew, and the run's bounds."""

    parallel: int = 1
    keys: tuple[str, ...] = ()
    resume: bool = False
    fresh: bool = False


def prepare(parts: Parts, plan: Plan, options: ExecuteOptions, home: Path) -> tuple[Scheduler, Run] | None:
    """Open or join the plan's run; None when everything is completed already. Raises PlanError for a plan that may
    not be executed and UserError for options that do not fit it."""
    if plan.status in ("draft", "rejected"):
        raise PlanError(
            f"Plan {plan.id} is {plan.status} and cannot be executed.",
            next_step=f"See `orchestrate show {plan.id}` and plan again.",
        )
    keys = wanted(plan, options.keys)
    newest = parts.reader.newest_run(plan.id)
    joins = newest is not None and newest.status in OPEN_RUN and not options.fresh
    if options.resume and not joins:
        raise UserError(f"Plan {plan.id} has no open run to resume.", next_step="Leave --resume out to start one.")
    if not joins and not options.fresh and plan.status == "done":
        return None
    run = parts.writer.open_run(_new_run(parts, plan, options, newest), fresh=options.fresh)
    purse = Purse.of_run(parts.settings, parts.reader, run, parts.clock)
    purse.check_prices(parts.prices_known())
    scheduler = Scheduler(parts, plan, run, purse, home=home, keys=keys)
    parts.listener(
        RunStarted(
            parts.clock.now(), run.id, plan.id, run.branch, keys or tuple(p.task.key for p in plan.tasks),
            options.parallel, run.sandbox_level, run.joined, bounds(parts, plan, keys),
        )
    )  # fmt: skip
    return scheduler, run


def run_plan(scheduler: Scheduler, options: ExecuteOptions) -> RunOutcome:
    """Execute the run to its end."""
    return scheduler.execute(options.parallel)


def wanted(plan: Plan, keys: tuple[str, ...]) -> tuple[str, ...] | None:
    """The named tasks with everything that they depend on, in plan order; None for all."""
    if not keys:
        return None
    graph = dependencies(plan)
    for key in keys:
        if key not in graph:
            near = difflib.get_close_matches(key, graph.nodes, 1)
            hint = f"Did you mean {near[0]}?" if near else f"Its tasks: {', '.join(list(graph.nodes)[:10])}."
            raise UserError(f"Plan {plan.id} has no task {key!r}.", next_step=hint)
    closure = {key for named in keys for key in (named, *nx.ancestors(graph, named))}
    return tuple(planned.task.key for planned in plan.tasks if planned.task.key in closure)


def dependencies(plan: Plan) -> nx.DiGraph[str]:
    """The plan as a graph, an edge from each dependency to its dependent."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(planned.task.key for planned in plan.tasks)
    graph.add_edges_from((d, planned.task.key) for planned in plan.tasks for d in planned.task.depends_on)
    return graph


def order(plan: Plan, states: tuple[TaskState, ...], keys: tuple[str, ...] | None) -> tuple[tuple[str, ...], ...]:
    """The tasks still to be executed, by generation: those of one generation may run at once."""
    open_keys = {s.task.key for s in states if s.status not in ("completed", "split", "cancelled")}
    chosen = open_keys if keys is None else open_keys.intersection(keys)
    return tuple(
        tuple(sorted(key for key in generation if key in chosen))
        for generation in nx.topological_generations(dependencies(plan))
        if chosen.intersection(generation)
    )


def bounds(parts: Parts, plan: Plan, keys: tuple[str, ...] | None) -> tuple[str, ...]:
    """What the run may cost at most, in words, before it starts."""
    tasks = [planned.task for planned in plan.tasks if keys is None or planned.task.key in keys]
    calls = sum(task.tool_call_budget * task.max_attempts for task in tasks)
    run = parts.settings.run
    said = [f"at most {calls:,} tool calls ({len(tasks)} tasks, their budgets times their attempts)"]
    if run.max_cost_usd is not None:
        said.append(f"at most ${run.max_cost_usd:,.2f}")
    if run.max_tokens is not None:
        said.append(f"at most {run.max_tokens:,} tokens")
    if run.deadline_s is not None:
        said.append(f"at most {timedelta(seconds=run.deadline_s)}")
    return tuple(said)


def _new_run(parts: Parts, plan: Plan, options: ExecuteOptions, newest: Run | None) -> Run:
    """A run on the plan's base, or on what the last one has accepted."""
    run_id = parts.ids.new("r")
    head = plan.base_commit if options.fresh or newest is None else newest.head_commit
    return Run(
        id=run_id,
        plan_id=plan.id,
        status="running",
        started_at=parts.clock.now(),
        parallelism=options.parallel,
        engine="local",
        settings_json=json.dumps(parts.settings.model_dump(mode="json"), sort_keys=True),
        branch=f"orchestrate/{run_id}",
        base_commit=plan.base_commit if options.fresh or newest is None else newest.base_commit,
        head_commit=head,
        sandbox_level=parts.workspaces.sandbox_level,
        version=__version__,
    )
