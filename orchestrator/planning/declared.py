"""What a person declares that a verification command needs, in the command's place or in the plan's `checks`.

`verification: [{command: pytest -q, services: [postgres]}]` is read as the command, and an entry of `checks` about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from orchestrator.planning.graph_checks import COMMAND_FIELDS, commands_at
from orchestrator.planning.source import DocumentPath, Problem, entries_of

Places = Mapping[DocumentPath, DocumentPath]
NOWHERE_ELSE: Places = MappingProxyType({})


def with_declared(document: Any) -> tuple[Any, Places]:
    """The raw document with its declarations in `checks`, and where those stood that were written elsewhere."""
    if not isinstance(document, Mapping):
        return document, NOWHERE_ELSE
    found = [*_declared(document, ())]
    for number, task in enumerate(entries_of(document, "tasks")):
        found += _declared(task, ("tasks", number))
    if not found:
        return document, NOWHERE_ELSE
    before = list(entries_of(document, "checks"))
    places: dict[DocumentPath, DocumentPath] = {
        ("checks", len(before) + number): place for number, (place, _) in enumerate(found)
    }
    plain = {**_plain(document), "checks": [*before, *(entry for _, entry in found)]}
    if "tasks" in plain:
        plain["tasks"] = [_plain(task) for task in entries_of(document, "tasks")]
    return plain, places


def in_place(problem: Problem, places: Places) -> Problem:
    """The problem where the person wrote what it is about."""
    place = places.get(problem.place[:2])
    return Problem((*place, *problem.place[2:]), problem.line, problem.message) if place else problem


def declaration_problems(document: Any) -> Iterator[Problem]:
    """Declarations about no command of the plan."""
    known = {command for _, command in commands_at(document, ())}
    for task in entries_of(document, "tasks"):
        known |= {command for _, command in commands_at(task, ())}
    for number, entry in enumerate(entries_of(document, "checks")):
        command = entry.get("command") if isinstance(entry, Mapping) else None
        if isinstance(command, str) and command.strip() and command not in known:
            message = f"{command[:120]!r} is no command of the plan: write it as its verification has it"
            yield Problem(("checks", number, "command"), None, message)


def _declared(owner: Any, place: DocumentPath) -> Iterator[tuple[DocumentPath, Mapping[str, Any]]]:
    for name in COMMAND_FIELDS:
        for at, entry in enumerate(entries_of(owner, name)):
            if _is_declaration(entry):
                yield (*place, name, at), entry


def _plain(owner: Any) -> Any:
    """A raw plan or task with commands alone."""
    if not isinstance(owner, Mapping):
        return owner
    lists = {name: entries_of(owner, name) for name in COMMAND_FIELDS if entries_of(owner, name)}
    return {**owner, **{name: [_command(entry) for entry in entries] for name, entries in lists.items()}}


def _command(entry: Any) -> Any:
    return entry["command"] if _is_declaration(entry) else entry


def _is_declaration(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "command" in entry
