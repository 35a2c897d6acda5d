"""Pre-flight: a plan file's tasks, judged before anything is spent on them.

A task is rejected when it is too complex, when one of its verification commands is none that a machine can execute,
or when neither it nor the plan has one that can. `override` lets it pass all of these; what nobody can execute is then
judged by QC as a criterion, since the engine runs commands only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Protocol

from orchestrator.domain.globs import NEW_ONLY, literal
from orchestrator.domain.plan import PlannedTask
from orchestrator.domain.ports import Ids
from orchestrator.domain.task import Assessment, Task, TaskKind
from orchestrator.planning.commands import executable
from orchestrator.planning.complexity import Budgets, Thresholds, assess, budget_from_history, budget_of, effective_kind
from orchestrator.planning.dag import graph_of
from orchestrator.planning.exit_status import always_succeeds
from orchestrator.planning.graph_checks import command_refusal
from orchestrator.planning.loosened import loosened_bounds
from orchestrator.planning.plan_file import PlanFile, TaskFile
from orchestrator.planning.programs import NONE_MISSING, MissingPrograms


@dataclass(frozen=True, slots=True)
class Preflight:
    """The judged tasks in plan order, what the plan itself is refused for, and what is only worth a warning."""

    tasks: tuple[PlannedTask, ...]
    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the plan can be executed as a whole."""
        return not self.refusals and all(planned.status == "pending" for planned in self.tasks)


def judge_plan(
    plan: PlanFile,
    *,
    plan_id: str,
    ids: Ids,
    thresholds: Thresholds,
    budgets: Budgets,
    repository_files: Iterable[str] = (),
    history: Mapping[str, Sequence[int]] = MappingProxyType({}),
    missing: MissingPrograms = NONE_MISSING,
    network: bool = True,
) -> Preflight:
    """Every task with its assessment and the status that it is stored with. `repository_files` are the paths of the
    base commit, `history` the tool calls of the repository's accepted attempts by the kind of their task, `missing` the
    programs that commands do not find, and `network` says whether they reach it."""
    files = frozenset(repository_files)
    refusals = _refused(missing, verification=plan.verification, full_verification=plan.full_verification)
    refusals += () if network else tuple(network_refusals(plan.checks))
    plan_level = any(executable(command) is None for command in plan.verification)
    judge = _Judge(plan_id, thresholds, budgets, files, history)
    tasks = tuple(
        judge.planned(task, ids.new("t"), _refusals(task, missing, plan_level=plan_level)) for task in plan.tasks
    )
    warnings = (*_unreadable(plan, files), *_idle(plan), *_contended(plan), *_proves_nothing(plan))
    return Preflight(tasks, refusals, warnings)


def default_allowed_paths(files_written: Sequence[str]) -> tuple[str, ...]:
    """The written files and new files beside them: `app/health.py` and `+app/*`. A file that is
    already there beside them is not allowed."""
    folders = dict.fromkeys(path.rpartition("/")[0] for path in files_written)
    beside = [f"{NEW_ONLY}{literal(folder)}/*" if folder else f"{NEW_ONLY}*" for folder in folders]
    return (*(literal(path) for path in files_written), *beside)


@dataclass(frozen=True, slots=True)
class _Judge:
    """What each task of a plan is judged by."""

    plan_id: str
    thresholds: Thresholds
    budgets: Budgets
    files: frozenset[str]
    history: Mapping[str, Sequence[int]]

    def planned(self, task: TaskFile, task_id: str, refusals: tuple[str, ...]) -> PlannedTask:
        assessment = assess(task, self.thresholds, refusals)
        passes = not assessment.rejected_because or assessment.overridden
        kind = effective_kind(task, assessment.band)
        usual, budget, note = self._budget(task, kind)
        assessment = replace(
            assessment,
            recommendation=f"{assessment.recommendation} {note if passes else ''}".strip(),
            loosened=tuple(loosened_bounds(task, assessment, kind, usual, self.files)),
        )
        judged = Task(
            id=task_id,
            plan_id=self.plan_id,
            key=task.key,
            title=task.title or task.key,
            prompt=task.prompt,
            kind=kind,
            role=task.role,
            qc_role=task.qc_role,
            tool_call_budget=budget,
            max_attempts=task.max_attempts,
            acceptance_criteria=task.acceptance_criteria,
            edge_cases=task.edge_cases,
            verification=_verification(task, assessment),
            verification_criteria=_criteria(task, assessment),
            allowed_paths=_allowed(task, self.files),
            files_read=task.files_read,
            files_written=task.files_written,
            depends_on=task.depends_on,
            max_changed_files=task.max_changed_files,
            max_changed_lines=task.max_changed_lines,
            model=task.model,
            strictness=task.strictness,
        )
        return PlannedTask(judged, assessment, "pending" if passes else "rejected")

    def _budget(self, task: TaskFile, kind: TaskKind) -> tuple[int, int, str]:
        """The kind's tool calls of one attempt, this task's, and a note where this repository's tasks of the kind took
        fewer. They lower a budget that the plan does not set only where the settings say so: on the figures of five
        trivial tasks an honest one would starve."""
        usual, past = budget_of(kind, self.budgets), self.history.get(kind, ())
        budget = budget_from_history(past, usual)
        if task.tool_call_budget is not None:
            return usual, task.tool_call_budget, ""
        if budget == usual:
            return usual, usual, ""
        seen = f"the {len(past)} {kind} attempts that were accepted here"
        if self.budgets.from_history:
            return usual, budget, f"Budget {budget} instead of {usual}, from {seen}; tool_call_budget overrules it."
        note = f"Of {seen}, 95 % took at most {budget} calls: budgets.from_history would set that instead of {usual}."
        return usual, usual, note


def _allowed(task: TaskFile, files: frozenset[str]) -> tuple[str, ...]:
    """The declared globs, where one that spells a known file means that file (`app/[id].tsx`)."""
    if task.allowed_paths is None:
        return default_allowed_paths(task.files_written)
    known = files.union(task.files_written)
    return tuple(literal(pattern) if pattern in known else pattern for pattern in task.allowed_paths)


def _refusals(task: TaskFile, missing: MissingPrograms, *, plan_level: bool) -> tuple[str, ...]:
    if not task.verification and not plan_level:
        return ("no executable verification, its own or the plan's: give a command whose exit code is the answer",)
    return _refused(missing, verification=task.verification)


def _refused(missing: MissingPrograms, **fields: Sequence[str]) -> tuple[str, ...]:
    """What nobody can execute, each with its field: `verification[0]: nobody can execute ...`."""
    listed = ((f"{name}[{at}]", command) for name, commands in fields.items() for at, command in enumerate(commands))
    judged = ((place, _refusal(command) or missing.told(command)) for place, command in listed)
    return tuple(f"{place}: {refusal}" for place, refusal in judged if refusal)


class _NeedsNetwork(Protocol):
    """A declaration, as a plan file has it or as a plan does."""

    @property
    def command(self) -> str: ...

    @property
    def network(self) -> bool: ...


def network_refusals(checks: Iterable[_NeedsNetwork]) -> list[str]:
    """A sentence for each command that is declared to need the network, where commands do not reach it."""
    return [
        f"{check.command.strip()[:120]!r} is declared to need the network, which commands do not reach here: set "
        "sandbox.network for it, or have the command do without"
        for check in checks
        if check.network
    ]


def _refusal(command: str) -> str | None:
    reason = executable(command)
    return command_refusal(command, reason) if reason else None


def _verification(task: TaskFile, assessment: Assessment) -> tuple[str, ...]:
    if not assessment.overridden:
        return task.verification
    return tuple(command for command in task.verification if executable(command) is None)


def _criteria(task: TaskFile, assessment: Assessment) -> Mapping[str, tuple[str, ...]]:
    criteria = {group: tuple(texts) for group, texts in task.verification_criteria.model_dump().items() if texts}
    moved = tuple(command for command in task.verification if executable(command)) if assessment.overridden else ()
    return {**criteria, "other": (*criteria.get("other", ()), *moved)} if moved else criteria


# --- warnings -----------------------------------------------------------------------------------------------------


def _unreadable(plan: PlanFile, files: frozenset[str]) -> Iterable[str]:
    """Files to be read that neither exist nor are written by any task."""
    if not files:
        return
    known = files.union(path for task in plan.tasks for path in task.files_written)
    folders = {path[: at + 1] for path in known for at, char in enumerate(path) if char == "/"}
    for task in plan.tasks:
        for path in task.files_read:
            exact = not any(char in path for char in "*?[")
            if exact and path != "." and path not in known and path.rstrip("/") + "/" not in folders:
                yield f"{task.key}: files_read names {path!r}, which neither exists nor is written by a task."


def _idle(plan: PlanFile) -> Iterable[str]:
    for task in plan.tasks:
        if not task.files_written and not task.allowed_paths:
            yield f"{task.key}: declares neither files_written nor allowed_paths, so it may change nothing."


def _proves_nothing(plan: PlanFile) -> Iterable[str]:
    for command in (*plan.verification, *plan.full_verification):
        if always_succeeds(command):
            yield f"The plan is verified by {command!r}, which always succeeds and proves nothing."


def _contended(plan: PlanFile) -> Iterable[str]:
    """Files written by two tasks of which neither comes after the other: run in parallel, they end in a conflict."""
    import networkx as nx  # here, because few commands need it and it takes long

    writers: dict[str, list[str]] = {}
    for task in plan.tasks:
        for path in task.files_written:
            writers.setdefault(path, []).append(task.key)
    graph = graph_of({task.key: task.depends_on for task in plan.tasks})
    for path, keys in writers.items():
        for one, other in pairwise(keys):
            if not nx.has_path(graph, one, other) and not nx.has_path(graph, other, one):
                yield f"{one} and {other} both write {path} in no order: make one depend on the other."
