"""The outline of a Markdown chain-output: which lines belong to which field of which task."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from orchestrator.planning.formats.markdown_texts import FENCE, LABEL

_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t#]*$")
_TASK_HEADING = re.compile(r"Task[ \t]+(\d[\w.-]*)[ \t]*(?:[:.–—-][ \t]*(.*))?$", re.IGNORECASE)
_RULE = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$")

FIELDS = {
    "task id": "key",
    "id": "key",
    "title": "title",
    "worker role": "role",
    "agent role": "role",
    "role": "role",
    "qc agent role": "qc_role",
    "qc role": "qc_role",
    "context": "prompt",
    "prompt": "prompt",
    "acceptance criteria": "acceptance_criteria",
    "success criteria": "acceptance_criteria",
    "verification criteria": "verification_criteria",
    "files read": "files_read",
    "files to read": "files_read",
    "files written": "files_written",
    "files to write": "files_written",
    "verification commands": "verification",
    "verification command": "verification",
    "edge cases": "edge_cases",
    "dependencies": "depends_on",
    "depends on": "depends_on",
}
GROUPS = {
    "security": "security",
    "functionality": "functionality",
    "code quality": "code_quality",
    "quality": "code_quality",
}
_GOALS = ("original request", "user request", "goal", "project goal")
_SHARED_QC = ("qc agent role for all tasks", "qc role for all tasks")


@dataclass(slots=True)
class OutlinePart:
    """A label with what follows it: (line, text) of its own line and of those below."""

    label: str
    line: int
    indent: int
    rows: list[tuple[int, str]] = field(default_factory=list)


@dataclass(slots=True)
class Section:
    """One task's part of the file."""

    line: int
    number: str = ""
    title: str = ""
    depth: int = 7
    fields: list[OutlinePart] = field(default_factory=list)
    loose: list[tuple[int, str]] = field(default_factory=list)


class Outline:
    """The file's lines, told apart: the tasks' sections, the goal, the QC role for all, and what is neither."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self.goal: OutlinePart | None = None
        self.shared_qc: OutlinePart | None = None
        self.left_out: list[str] = []
        self._section: Section | None = None
        self._field: OutlinePart | None = None
        self._fenced = False

    def read(self, number: int, row: str) -> None:
        """Take the next line."""
        if FENCE.match(row):
            self._fenced = not self._fenced
            self._keep(number, row)
        elif self._fenced:
            self._keep(number, row)
        elif heading := _HEADING.match(row):
            self._heading(number, len(heading[1]), heading[2])
        elif _RULE.match(row):
            self._section = self._field = None
        elif label := LABEL.match(row):
            self._label(number, row, label)
        else:
            self._keep(number, row)

    def _heading(self, number: int, depth: int, title: str) -> None:
        if task := _TASK_HEADING.match(title.replace("*", "").strip()):
            self._open(Section(number, task[1], (task[2] or "").strip(), depth))
        elif self._section is None or depth <= self._section.depth:
            self._section = self._field = None
            self.left_out.append(title[:80])
        else:
            self._keep(number, title)

    def _open(self, section: Section) -> None:
        self.sections.append(section)
        self._section, self._field = section, None

    def _label(self, number: int, row: str, match: re.Match[str]) -> None:
        indent, name, rest = len(match[1].expandtabs(4)), match[2].strip(), match[3]
        known = name.lower() in FIELDS
        given = {part.label.lower() for part in self._section.fields} if self._section else {"task id"}
        if name.lower() == "task id" and "task id" in given:
            self._open(Section(number))
        if self._section is None:
            self._outside(number, name, rest)
        elif self._field is None or known or (indent <= self._field.indent and not self._is_group(name)):
            self._field = OutlinePart(name, number, indent, [(number, rest)])
            self._section.fields.append(self._field)
        else:
            self._keep(number, row)

    def _outside(self, number: int, name: str, rest: str) -> None:
        self._field = OutlinePart(name, number, 0, [(number, rest)])
        if name.lower() in _GOALS and self.goal is None:
            self.goal = self._field
        elif name.lower() in _SHARED_QC:
            self.shared_qc = self._field

    def _is_group(self, name: str) -> bool:
        inside = self._field is not None and self._field.label.lower() == "verification criteria"
        return inside and name.lower() in GROUPS

    def _keep(self, number: int, row: str) -> None:
        if self._field is not None:
            self._field.rows.append((number, row))
        elif self._section is not None:
            self._section.loose.append((number, row))
