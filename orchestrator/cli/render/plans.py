"""A plan as a table and a tree, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from orchestrator.cli.render.screen import grid, status_text
from orchestrator.cli.render.text import clean, one_line
from orchestrator.domain.errors import PlanError
from orchestrator.domain.plan import Plan, PlannedTask
from orchestrator.domain.task import Assessment


def plan_view(plan: Plan) -> RenderableType:
    """The goal, the tasks with pre-flight's judgement, and what waits for what."""
    head = Text.assemble(
        ("plan ", "dim"), plan.id, "  ", status_text(plan.status), "  ", one_line(plan.goal, 100), "\n"
    )
    needs = {planned.task.key: planned.task.depends_on for planned in plan.tasks}
    checks = [Text(f"checked by: {clean(command)}", style="dim") for command in plan.verification]
    checks += _needs(plan)
    said = [_advice(planned) for planned in plan.tasks if planned.assessment.recommendation]
    wider = loosened_view((planned.task.key, planned.assessment) for planned in plan.tasks)
    return Group(head, _tasks(plan.tasks), Text(), *said, *wider, dependency_tree(needs, needs), *checks)


def _needs(plan: Plan) -> list[Text]:
    """What commands are declared to need, a line each: before the run, since nobody starts it."""
    return [Text(f"{clean(needs.command)}: {clean(needs.told)}") for needs in plan.checks if needs.told]


def checks_document(plan: Plan) -> dict[str, Any]:
    """The same in JSON."""
    return {"checks": [asdict(needs) for needs in plan.checks]} if plan.checks else {}


def loosened_lines(tasks: Iterable[tuple[str, Assessment | None]]) -> list[str]:
    """The tasks whose bounds a person set wider than their defaults, with the reason given, by key; a line each."""
    return [
        f"{clean(key)}: wider bounds: {clean('; '.join(judged.loosened))} ({_reason(judged)})"
        for key, judged in tasks
        if judged is not None and judged.loosened
    ]


def _reason(judged: Assessment) -> str:
    return f"reason: {one_line(judged.justification, 300)}" if judged.justification else "no reason is given"


def loosened_view(tasks: Iterable[tuple[str, Assessment | None]]) -> list[Text]:
    """The same lines as they stand on a screen."""
    return [Text(line, style="yellow") for line in loosened_lines(tasks)]


def _advice(planned: PlannedTask) -> Text:
    return Text(f"{clean(planned.task.key)}: {clean(planned.assessment.recommendation)}", style="dim")


def _tasks(tasks: Sequence[PlannedTask]) -> RenderableType:
    shown = grid(
        *("task", "title", "band", "score", "budget", "writes", "status"),
        right=("score", "budget"),
        drop=("band", "score", "title", "writes"),
    )
    for planned in tasks:
        task, judged = planned.task, planned.assessment
        shown.add_row(
            Text(task.key),
            Text(one_line(task.title, 60)),
            judged.band,
            str(judged.score),
            str(task.tool_call_budget),
            Text("\n".join(clean(path) for path in task.files_written)),
            status_text(planned.status),
        )
    return shown


def dependency_tree(keys: Iterable[str], needs: Mapping[str, Sequence[str]]) -> Tree:
    """Each task under the first task that it waits for; further ones are named behind it."""
    tree = Tree(Text("order of execution", style="dim"), guide_style="dim")
    nodes: dict[str, Tree] = {}
    waiting = list(keys)
    while waiting:
        ready = [key for key in waiting if not needs[key] or needs[key][0] in nodes] or waiting
        for key in ready:
            first, *others = needs[key] or ("",)
            also = f" (after {', '.join(others)} too)" if others else ""
            nodes[key] = nodes.get(first, tree).add(Text(clean(key + also)))
        waiting = [key for key in waiting if key not in nodes]
    return tree


def preview_view(plan: Plan, order: Sequence[Sequence[str]], bounds: Sequence[str]) -> RenderableType:
    """What `execute --dry-run` prints: the tasks by the step in which they could start, and the bounds."""
    tasks = {planned.task.key: planned.task for planned in plan.tasks}
    shown = grid("step", "task", "title", "budget", "attempts", right=("budget", "attempts"), drop=("title",))
    for number, generation in enumerate(order, start=1):
        for key in generation:
            task = tasks[key]
            budget, most = str(task.tool_call_budget), str(task.max_attempts)
            shown.add_row(str(number), Text(key), Text(one_line(task.title, 60)), budget, most)
    said = [Text(clean(bound)) for bound in bounds]
    open_ = {key for generation in order for key in generation}
    wider = loosened_view((each.task.key, each.assessment) for each in plan.tasks if each.task.key in open_)
    return Group(shown, Text(), *said, *_needs(plan), *wider, Text("Nothing was started (--dry-run).", style="dim"))


def loosened_document(judged: Assessment | None) -> dict[str, Any]:
    """What JSON says of a task's bounds where a person set them wider than their defaults."""
    if judged is None or not judged.loosened:
        return {}
    return {"loosened": list(judged.loosened), "justification": judged.justification}


def unread_document(error: PlanError) -> dict[str, Any]:
    """`plan --json` where no plan came of it."""
    return {"planId": None, "status": "rejected", "defects": list(error.found), "tasks": []}


def plan_document(plan: Plan, defects: Sequence[str] = ()) -> dict[str, Any]:
    """`plan --json`; of a refused plan with everything that it is refused for."""
    refused = {"defects": list(defects)} if defects else {}
    return {
        "planId": plan.id,
        "status": plan.status,
        **refused,
        **checks_document(plan),
        "tasks": [
            {
                "id": planned.task.id,
                "key": planned.task.key,
                "status": planned.status,
                "score": planned.assessment.score,
                "band": planned.assessment.band,
                "defects": list(planned.assessment.rejected_because),
                **loosened_document(planned.assessment),
            }
            for planned in plan.tasks
        ],
    }
