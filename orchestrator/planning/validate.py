"""Reading a plan's document into a PlanFile, or every defect it has at once.

The document is what a parser made of YAML, JSON or Markdown, or the arguments of submit_plan. Checks of one field are
the models' own; those across tasks are made on the raw document, so that a wrong type in one task hides no cycle in
three others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.domain.errors import PlanError
from orchestrator.domain.text import counted, nearest
from orchestrator.planning.declared import NOWHERE_ELSE, Places, declaration_problems, in_place, with_declared
from orchestrator.planning.graph_checks import command_problems, override_problems, task_problems
from orchestrator.planning.plan_file import DeclaredCheck, PlanFile, SubmittedPlan, TaskFile, VerificationCriteria
from orchestrator.planning.source import DocumentPath, PlanSource, Problem
from orchestrator.planning.submission import submission_problems

_SHOWN = 40


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
        count = counted(len(defects), "defect")
        lines = [f"  {defect}" for defect in self.defects[:_SHOWN]]
        if len(defects) > _SHOWN:
            lines.append(f"  and {len(defects) - _SHOWN} more")
        super().__init__(f"The plan has {count}:\n" + "\n".join(lines) + "\nMend them and load the plan again.")

    @property
    def found(self) -> tuple[str, ...]:
        """The defects in words."""
        return tuple(map(str, self.defects))


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


def examine(source: PlanSource) -> Examined:
    """Read a person's document; all of its defects, in the order of its lines."""
    document, places = with_declared(source.document)
    problems = (*override_problems(document), *declaration_problems(document))
    return _examined(replace(source, document=document), PlanFile, problems, places)


def examine_submission(document: Mapping[str, Any], repository_files: Collection[str]) -> Examined:
    """Read what the PM submitted, which may set no bound and widen none. `repository_files` are the paths of the base
    commit."""
    return _examined(PlanSource(document), SubmittedPlan, submission_problems(document, frozenset(repository_files)))


def _examined(
    source: PlanSource, form: type[BaseModel], more: Iterable[Problem], places: Places = NOWHERE_ELSE
) -> Examined:
    found = list(source.problems)
    if not source.unreadable:
        found += [*_field_problems(source.document, form), *task_problems(source.document), *more]
    defects = _defects(source, (in_place(problem, places) for problem in found))
    plan = None if defects else PlanFile.model_validate(source.document)
    return Examined(plan, defects, _defects(source, command_problems(source.document)), source.left_out)


def _defects(source: PlanSource, problems: Iterable[Problem]) -> tuple[Defect, ...]:
    found = []
    for problem in problems:
        task, name = _named(source.document, problem.place)
        found.append(Defect(task, name, problem.line or _line(source.lines, problem.place), problem.message))
    return _in_order(found)


def _in_order(defects: Iterable[Defect]) -> tuple[Defect, ...]:
    return tuple(sorted(dict.fromkeys(defects), key=lambda defect: defect.line or 0))


def _line(lines: Mapping[DocumentPath, int], place: DocumentPath) -> int | None:
    """The line of the place, else of the nearest place around it."""
    spellings = {"verification": "verification_commands"}
    while place:
        other = tuple(spellings.get(part, part) if isinstance(part, str) else part for part in place)
        if (line := lines.get(place) or lines.get(other)) is not None:
            return line
        place = place[:-1]
    return lines.get(())


def _named(document: Any, place: DocumentPath) -> tuple[str | None, str]:
    if len(place) < 2 or place[0] != "tasks" or not isinstance(place[1], int):
        return None, _spelt(place)
    tasks = document.get("tasks") if isinstance(document, Mapping) else None
    task = tasks[place[1]] if isinstance(tasks, Sequence) and place[1] < len(tasks) else None
    key = task.get("key") if isinstance(task, Mapping) else None
    return key[:80] if isinstance(key, str) and key else f"task {place[1] + 1}", _spelt(place[2:])


def _spelt(place: DocumentPath) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part[:80]}" for part in place)
    return text.removeprefix(".")


# --- one field ----------------------------------------------------------------------------------------------------


def _field_problems(document: Any, form: type[BaseModel]) -> Iterator[Problem]:
    if not isinstance(document, Mapping):
        yield Problem((), None, f"a plan is a mapping with `goal` and `tasks`, this is {_shown(document)}")
        return
    try:
        form.model_validate(document)
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
    owner = _owner(place)
    if name in owner.model_fields:
        return "is for a person to set, not for the PM: leave it out"
    what = {PlanFile: "plan", DeclaredCheck: "check"}.get(owner, "task")
    return f"is no field of a {what}{nearest(name, owner.model_fields)}"


def _owner(place: Sequence[str | int]) -> type[BaseModel]:
    """What the field at this place is one of."""
    if place[0] == "checks":
        return DeclaredCheck
    return VerificationCriteria if "verification_criteria" in place[:-1] else TaskFile if len(place) > 1 else PlanFile
