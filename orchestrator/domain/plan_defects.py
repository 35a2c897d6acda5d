"""Reading a plan's document into a PlanFile, or every defect it has at once (cli.md, Plan file).

The document is what a parser made of YAML, JSON or Markdown, or the arguments of submit_plan. Checks of one field are
the models' own; those across tasks are made on the raw document, so that a wrong type in one task hides no cycle in
three others.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from orchestrator.domain.commands import executable
from orchestrator.domain.errors import PlanError
from orchestrator.domain.plan import PlanFile, TaskFile, VerificationCriteria

Place = tuple[str | int, ...]
"""Where in the document: ("tasks", 2, "verification", 0)."""

_SUGGESTIONS = 50
_SHOWN = 40
_FIELDS = {
    PlanFile: [*PlanFile.model_fields],
    TaskFile: [*TaskFile.model_fields],
    VerificationCriteria: [*VerificationCriteria.model_fields],
}


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing wrong with a plan file. `task` is a key, or "task 3" where there is none; None means the plan."""

    task: str | None
    field: str
    line: int | None
    message: str

    def __str__(self) -> str:
        where = [part for part in (self.task, self.field, f"line {self.line}" if self.line else "") if part]
        return f"{', '.join(where) or 'the file'}: {self.message}"


class PlanFileError(PlanError):
    """A plan file with defects, all of them in `defects`."""

    def __init__(self, defects: Sequence[Defect]) -> None:
        self.defects = tuple(defects)
        count = f"{len(defects)} defect{'s' if len(defects) > 1 else ''}"
        lines = [f"  {defect}" for defect in self.defects[:_SHOWN]]
        if len(defects) > _SHOWN:
            lines.append(f"  and {len(defects) - _SHOWN} more")
        super().__init__(
            f"The plan has {count}:\n" + "\n".join(lines),
            next_step="\n`orchestrate plan --schema` prints every field with its meaning.",
        )


@dataclass(frozen=True, slots=True)
class Problem:
    """What a parser found wrong: a key twice, an unreadable value."""

    place: Place
    line: int | None
    message: str


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed document: plain values, the line of every place, and what the parser itself has to report."""

    document: Any
    lines: Mapping[Place, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    left_out: tuple[str, ...] = ()
    """Parts of a Markdown file that no field of a plan takes, for a notice."""
    unreadable: bool = False
    """Nothing could be parsed: the problems are all there is to say."""


@dataclass(frozen=True, slots=True)
class Examined:
    """A plan without structural defects, or None with them. `refusals` name the verification commands that nobody can
    execute: pre-flight refuses their tasks, an override can let them pass."""

    plan: PlanFile | None
    defects: tuple[Defect, ...]
    refusals: tuple[Defect, ...]
    left_out: tuple[str, ...] = ()

    def ready(self) -> PlanFile:
        """The plan. Raises PlanFileError with every defect, refused commands among them."""
        if self.plan is None:
            raise PlanFileError(_in_order([*self.defects, *self.refusals]))
        return self.plan


def examine(source: Source) -> Examined:
    """Read the document; all of its defects, in the order of its lines."""
    found = list(source.problems)
    if not source.unreadable:
        found += [*_field_problems(source.document), *_task_problems(source.document)]
    defects = tuple(_in_order(_defects(source, found)))
    plan = None if defects else PlanFile.model_validate(source.document)
    refusals = tuple(_in_order(_defects(source, _command_problems(source.document))))
    return Examined(plan, defects, refusals, source.left_out)


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest of the known names, else nothing."""
    folded = {candidate.lower().replace("_", "").replace("-", ""): candidate for candidate in known}
    wanted = name[:100].lower().replace("_", "").replace("-", "")
    found = difflib.get_close_matches(wanted, folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[found[0]]!r}?" if found else ""


def _defects(source: Source, problems: Iterable[Problem]) -> Iterator[Defect]:
    for problem in problems:
        task, name = _named(source.document, problem.place)
        yield Defect(task, name, problem.line or _line(source.lines, problem.place), problem.message)


def _in_order(defects: Iterable[Defect]) -> list[Defect]:
    return sorted(dict.fromkeys(defects), key=lambda defect: defect.line or 0)


def _line(lines: Mapping[Place, int], place: Place) -> int | None:
    """The line of the place, else of the nearest place around it."""
    spellings = {"verification": "verification_commands"}
    while place:
        other = tuple(spellings.get(part, part) if isinstance(part, str) else part for part in place)
        if (line := lines.get(place) or lines.get(other)) is not None:
            return line
        place = place[:-1]
    return lines.get(())


def _named(document: Any, place: Place) -> tuple[str | None, str]:
    if len(place) < 2 or place[0] != "tasks" or not isinstance(place[1], int):
        return None, _spelt(place)
    tasks = document.get("tasks") if isinstance(document, Mapping) else None
    task = tasks[place[1]] if isinstance(tasks, Sequence) and place[1] < len(tasks) else None
    key = task.get("key") if isinstance(task, Mapping) else None
    return key[:80] if isinstance(key, str) and key else f"task {place[1] + 1}", _spelt(place[2:])


def _spelt(place: Place) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part[:80]}" for part in place)
    return text.removeprefix(".")


# --- one field ----------------------------------------------------------------------------------------------------


def _field_problems(document: Any) -> Iterator[Problem]:
    if not isinstance(document, Mapping):
        yield Problem((), None, f"a plan is a mapping with `goal` and `tasks`, this is {_shown(document)}")
        return
    try:
        PlanFile.model_validate(document)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            if details["type"] == "too_short" and _size(details["input"]):
                continue  # pydantic counts valid entries only; the invalid ones are reported themselves
            yield Problem(tuple(details["loc"]), None, _message(details))


def _message(details: ErrorDetails) -> str:
    kind, given, limits = details["type"], details["input"], details.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown(details["loc"])
    if kind == "value_error":
        return str(limits["error"])
    if kind == "string_type" and isinstance(given, (int, float, bool, Mapping)):
        return f"must be a text, is {_shown(given)}: put it in quotes"
    if kind == "literal_error":
        return f"must be {limits['expected']}, is {_shown(given)}"
    if kind in _LIMITED:
        return _LIMITED[kind].format(shown=_shown(given), size=_size(given), **limits)
    return f"{_MEANT[kind]}, is {_shown(given)}" if kind in _MEANT else details["msg"]


_LIMITED = {
    "missing": "is required",
    "greater_than_equal": "must be at least {ge}, is {shown}",
    "less_than_equal": "must be at most {le}, is {shown}",
    "string_too_long": "must be at most {max_length} characters long, is {size}",
    "too_long": "must hold at most {max_length} entries, holds {size}",
    "too_short": "must hold at least {min_length} entry, holds none",
    "string_unicode": "holds half a character (a lone surrogate)",
    "invalid_key": "a field's name must be a text",
}
_MEANT = {
    "string_type": "must be a text",
    "tuple_type": "must be a list",
    "model_type": "must be a mapping of fields",
    "model_attributes_type": "must be a mapping of fields",
    "dict_type": "must be a mapping of fields",
    "int_type": "must be a whole number",
}


def _size(given: Any) -> int:
    return len(given) if isinstance(given, (str, Sequence)) else 0


def _shown(value: Any) -> str:
    """A value as a message shows it: its kind, and itself where that is short."""
    if value is None:
        return "empty"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = repr(value) if isinstance(value, str) else str(value).lower()
    return text if len(text) <= 60 else f"{text[:57]}..."


def _unknown(place: Sequence[str | int]) -> str:
    name = str(place[-1])
    if name == "verification_commands":
        return "is another name of 'verification', which is given too: keep one"
    owner = VerificationCriteria if "verification_criteria" in place[:-1] else TaskFile if len(place) > 1 else PlanFile
    return f"is no field of a {'plan' if owner is PlanFile else 'task'}{nearest(name, _FIELDS[owner])}"


# --- across tasks -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Outline:
    """What the checks across tasks need of one raw task, of the right types or left out."""

    index: int
    key: str | None
    depends_on: tuple[str, ...]
    needs_override: str | None


def _outlines(document: Any) -> Iterator[_Outline]:
    for index, task in enumerate(_list(_get(document, "tasks"))):
        key, kind = _get(task, "key"), _get(task, "kind")
        depends_on = tuple(other for other in _list(_get(task, "depends_on")) if isinstance(other, str))
        unjustified = kind in ("complex", "research") and not _get(task, "override")
        yield _Outline(index, key if isinstance(key, str) else None, depends_on, kind if unjustified else None)


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _task_problems(document: Any) -> Iterator[Problem]:
    tasks = list(_outlines(document))
    for task in tasks:
        if task.needs_override:
            message = f"{task.needs_override} needs a justification in `override`; else split the task"
            yield Problem(("tasks", task.index, "kind"), None, message)
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


def _command_problems(document: Any) -> Iterator[Problem]:
    yield from _refused(document, ())
    for index, task in enumerate(_list(_get(document, "tasks"))):
        yield from _refused(task, ("tasks", index))


def _refused(owner: Any, place: Place) -> Iterator[Problem]:
    for name in ("verification", "verification_commands", "full_verification"):
        for at, command in enumerate(_list(_get(owner, name))):
            if isinstance(command, str) and command.strip() and (reason := executable(command)):
                yield Problem((*place, name, at), None, refusal(command, reason))


def refusal(command: str, reason: str) -> str:
    """One sentence about a command that nobody can execute."""
    return f"nobody can execute {command.strip()[:120]!r}: {reason}; give a command whose exit code is the answer"
