"""What only the PM's submission is held to: its paths and commands must bound the work that they are given for.

Read from the raw document, like the checks across tasks, so that the PM is told all of its defects at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from orchestrator.planning.exit_status import always_succeeds
from orchestrator.planning.graph_checks import commands_at
from orchestrator.planning.path_width import folders_of, is_wide
from orchestrator.planning.source import DocumentPath, Problem, entries_of


def submission_problems(document: Any, repository_files: Collection[str]) -> Iterator[Problem]:
    """Commands that succeed whatever the work is, and paths wider than the folders of a task's written files."""
    yield from _proves_nothing(document, ())
    for index, task in enumerate(entries_of(document, "tasks")):
        yield from _proves_nothing(task, ("tasks", index))
        yield from _wide(task, ("tasks", index), repository_files)


def _proves_nothing(owner: Any, place: DocumentPath) -> Iterator[Problem]:
    for at, command in commands_at(owner, place):
        if always_succeeds(command):
            message = f"{command.strip()[:120]!r} always succeeds, so it proves nothing; give a command that can fail"
            yield Problem(at, None, message)


def _wide(task: Any, place: DocumentPath, repository_files: Collection[str]) -> Iterator[Problem]:
    written = [path for path in entries_of(task, "files_written") if isinstance(path, str)]
    for at, pattern in enumerate(entries_of(task, "allowed_paths")):
        if isinstance(pattern, str) and is_wide(pattern, written, repository_files):
            where = ", ".join(sorted(folder or "the top level" for folder in folders_of(written))) or "none"
            message = (
                f"{pattern[:120]!r} is wider than the folders of the files that the task writes ({where[:300]}): name "
                "the files in files_written, or leave allowed_paths out"
            )
            yield Problem((*place, "allowed_paths", at), None, message)
