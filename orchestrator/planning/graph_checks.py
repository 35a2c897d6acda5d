"""What can only be seen across a plan's tasks: keys given twice, dependencies without a task, cycles, and the commands
that nobody can execute. Read from the raw document, whose values may be of any type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.text import nearest
from orchestrator.planning.commands import executable
from orchestrator.planning.source import DocumentPath, Problem, entries_of, value_of

_SUGGESTIONS = 50
COMMAND_FIELDS = ("verification", "verification_commands", "full_verification")
"""The fields of a raw plan or task that hold commands."""


@dataclass(frozen=True, slots=True)
class _Outline:
    """What the checks across tasks need of one raw task, of the right types or left out."""

    index: int
    key: str | None
    depends_on: tuple[str, ...]


def _outlines(document: Any) -> Iterator[_Outline]:
    for index, task in enumerate(entries_of(document, "tasks")):
        key = value_of(task, "key")
        depends_on = tuple(other for other in entries_of(task, "depends_on") if isinstance(other, str))
        yield _Outline(index, key if isinstance(key, str) else None, depends_on)


def override_problems(document: Any) -> Iterator[Problem]:
    """Tasks of a raw document of kinds that need an override, without one."""
    for index, task in enumerate(entries_of(document, "tasks")):
        kind = value_of(task, "kind")
        if kind in ("complex", "research") and not value_of(task, "override"):
            message = f"{kind} needs a justification in `override`; else split the task"
            yield Problem(("tasks", index, "kind"), None, message)


def task_problems(document: Any) -> Iterator[Problem]:
    """What is wrong between the tasks of a raw document: keys, dependencies, cycles."""
    tasks = list(_outlines(document))
    yield from _twice(tasks)
    yield from _unknown_dependencies(tasks)
    yield from _cycles(tasks)


def _twice(tasks: Sequence[_Outline]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for task in tasks:
        if task.key is None:
            continue
        if task.key in first:
            message = f"{task.key[:80]!r} is the key of task {first[task.key] + 1} already"
            yield Problem(("tasks", task.index, "key"), None, message)
        first.setdefault(task.key, task.index)


def _unknown_dependencies(tasks: Sequence[_Outline]) -> Iterator[Problem]:
    keys = {task.key for task in tasks if task.key is not None}
    unknown = [(task, at, key) for task in tasks for at, key in enumerate(task.depends_on) if key not in keys]
    for number, (task, at, key) in enumerate(unknown):
        # comparing every unknown name with every key is quadratic: a plan of thousands gets the first few suggestions
        hint = nearest(key, keys) if number < _SUGGESTIONS else ""
        yield Problem(("tasks", task.index, "depends_on", at), None, f"there is no task {key[:80]!r}{hint}")


def _cycles(tasks: Sequence[_Outline]) -> Iterator[Problem]:
    import networkx as nx  # here, because few commands need it and it takes long

    index = {task.key: task.index for task in reversed(tasks) if task.key is not None}
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edges_from((task.key, other) for task in tasks if task.key is not None for other in task.depends_on)
    for knot in nx.strongly_connected_components(graph):
        start = min(knot, key=lambda key: index.get(key, len(tasks)))
        if len(knot) > 1 or graph.has_edge(start, start):
            round_trip = [edge[0] for edge in nx.find_cycle(graph.subgraph(knot), start)]
            names = [*round_trip[:10], *(["..."] if len(round_trip) > 10 else []), round_trip[0]]
            place = ("tasks", index[round_trip[0]], "depends_on")
            yield Problem(place, None, f"a cycle of dependencies: {' -> '.join(name[:80] for name in names)}")


def command_problems(document: Any) -> Iterator[Problem]:
    """Verification commands of a raw document that nobody can execute."""
    yield from _refused(document, ())
    for index, task in enumerate(entries_of(document, "tasks")):
        yield from _refused(task, ("tasks", index))


def _refused(owner: Any, place: DocumentPath) -> Iterator[Problem]:
    for at, command in commands_at(owner, place):
        if reason := executable(command):
            yield Problem(at, None, command_refusal(command, reason))


def commands_at(owner: Any, place: DocumentPath) -> Iterator[tuple[DocumentPath, str]]:
    """The commands of a raw plan or task that stands at `place`, each with its own place."""
    for name in COMMAND_FIELDS:
        for at, command in enumerate(entries_of(owner, name)):
            if isinstance(command, str) and command.strip():
                yield (*place, name, at), command


def command_refusal(command: str, reason: str) -> str:
    """One sentence about a command that nobody can execute."""
    return f"nobody can execute {command.strip()[:120]!r}: {reason}; give a command whose exit code is the answer"
