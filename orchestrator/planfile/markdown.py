"""Markdown chain-outputs: plans as a PM agent writes them in prose, one section a task.

A task begins at a heading `Task 1.1: Title` or a line `**Task ID:** task-1.1`, and ends at the next heading that is
not deeper, or a rule. Within it a line that begins with a bold label opens a field; what no field of a plan takes goes
into the prompt, so that nothing a worker could need is dropped. Sections outside of the tasks are reported by their
headings. `graph_add_edge('a', 'depends_on', 'b')` lines are not read: their writers mean that b depends on a, and the
`Dependencies:` line says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.domain.plan_defects import Place, Problem, Source

_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t#]*$")
_TASK_HEADING = re.compile(r"Task[ \t]+(\d[\w.-]*)[ \t]*(?:[:.–—-][ \t]*(.*))?$", re.IGNORECASE)
_LABEL = re.compile(r"([ \t]*)(?:[-*+][ \t]+)?\*\*([^*]{1,80}?)(?::\*\*|\*\*[ \t]*:)[ \t]*(.*)$")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]?\][ \t]*)?(.*)$")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_RULE = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$")
_SPAN = re.compile(r"`([^`]+)`[ \t]*([-–—:(].*)?")
_REMARK = re.compile(r"(\S+)[ \t]+(?:\(.*\)|[-–—][ \t].*)")
_NOTHING = frozenset({"", "none", "n/a", "na", "-", "–", "—", "[]", "nil"})

_FIELDS = {
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
_GROUPS = {
    "security": "security",
    "functionality": "functionality",
    "code quality": "code_quality",
    "quality": "code_quality",
}
_GOALS = ("original request", "user request", "goal", "project goal")
_SHARED_QC = ("qc agent role for all tasks", "qc role for all tasks")


@dataclass(slots=True)
class _Field:
    """A label with what follows it: (line, text) of its own line and of those below."""

    label: str
    line: int
    indent: int
    rows: list[tuple[int, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Section:
    """One task's part of the file."""

    line: int
    number: str = ""
    title: str = ""
    depth: int = 7
    fields: list[_Field] = field(default_factory=list)
    loose: list[tuple[int, str]] = field(default_factory=list)


def parse_markdown(text: str) -> Source:
    """The document that the chain-output describes, with the lines of its fields."""
    outline = _Outline()
    for number, row in enumerate(text.split("\n"), start=1):
        outline.read(number, row)
    return _Document(outline).build()


class _Outline:
    """The file's lines, told apart: the tasks' sections, the goal, the QC role for all, and what is neither."""

    def __init__(self) -> None:
        self.sections: list[_Section] = []
        self.goal: _Field | None = None
        self.shared_qc: _Field | None = None
        self.left_out: list[str] = []
        self._section: _Section | None = None
        self._field: _Field | None = None
        self._fenced = False

    def read(self, number: int, row: str) -> None:
        """Take the next line."""
        if _FENCE.match(row):
            self._fenced = not self._fenced
            self._keep(number, row)
        elif self._fenced:
            self._keep(number, row)
        elif heading := _HEADING.match(row):
            self._heading(number, len(heading[1]), heading[2])
        elif _RULE.match(row):
            self._section = self._field = None
        elif label := _LABEL.match(row):
            self._label(number, row, label)
        else:
            self._keep(number, row)

    def _heading(self, number: int, depth: int, title: str) -> None:
        if task := _TASK_HEADING.match(title.replace("*", "").strip()):
            self._open(_Section(number, task[1], (task[2] or "").strip(), depth))
        elif self._section is None or depth <= self._section.depth:
            self._section = self._field = None
            self.left_out.append(title[:80])
        else:
            self._keep(number, title)

    def _open(self, section: _Section) -> None:
        self.sections.append(section)
        self._section, self._field = section, None

    def _label(self, number: int, row: str, match: re.Match[str]) -> None:
        indent, name, rest = len(match[1].expandtabs(4)), match[2].strip(), match[3]
        known = name.lower() in _FIELDS
        if name.lower() == "task id" and (self._section is None or self._has("task id")):
            self._open(_Section(number))
        if self._section is None:
            self._outside(number, name, rest)
        elif self._field is None or known or (indent <= self._field.indent and not self._is_group(name)):
            self._field = _Field(name, number, indent, [(number, rest)])
            self._section.fields.append(self._field)
        else:
            self._keep(number, row)

    def _outside(self, number: int, name: str, rest: str) -> None:
        self._field = _Field(name, number, 0, [(number, rest)])
        if name.lower() in _GOALS and self.goal is None:
            self.goal = self._field
        elif name.lower() in _SHARED_QC:
            self.shared_qc = self._field

    def _is_group(self, name: str) -> bool:
        inside = self._field is not None and self._field.label.lower() == "verification criteria"
        return inside and name.lower() in _GROUPS

    def _has(self, label: str) -> bool:
        return any(known.label.lower() == label for known in (self._section.fields if self._section else ()))

    def _keep(self, number: int, row: str) -> None:
        if self._field is not None:
            self._field.rows.append((number, row))
        elif self._section is not None:
            self._section.loose.append((number, row))


class _Document:
    """The plan's document from the outline, with lines."""

    def __init__(self, outline: _Outline) -> None:
        self._outline = outline
        self._lines: dict[Place, int] = {}
        self._keys = {_key_of(section) for section in outline.sections}

    def build(self) -> Source:
        problems = [] if self._outline.sections else [Problem(("tasks",), None, _NO_TASK)]
        document: dict[str, Any] = {}
        if self._outline.goal is not None:
            document["goal"] = _prose(_first_paragraph(self._outline.goal.rows)).strip('"“”')
            self._lines[("goal",)] = self._outline.goal.line
        document["tasks"] = [self._task(at, section) for at, section in enumerate(self._outline.sections)]
        if problems:  # one sentence about the missing tasks, not two
            return Source(document, self._lines, tuple(problems), unreadable=True)
        return Source(document, self._lines, left_out=tuple(self._outline.left_out))

    def _task(self, at: int, section: _Section) -> dict[str, Any]:
        place: Place = ("tasks", at)
        self._lines[place] = section.line
        task: dict[str, Any] = {"key": _key_of(section)}
        if section.title:
            task["title"] = section.title
        prompt = [_prose(section.loose)]
        for part in section.fields:
            prompt += self._take(task, place, part)
        task["prompt"] = "\n\n".join(text for text in prompt if text) or section.title
        if "qc_role" not in task and self._outline.shared_qc is not None:
            task["qc_role"] = _prose(_first_paragraph(self._outline.shared_qc.rows))
        return task

    def _take(self, task: dict[str, Any], place: Place, part: _Field) -> list[str]:
        """Put the field's value into the task; what belongs into the prompt comes back."""
        name = _FIELDS.get(part.label.lower())
        if name is None:
            return [_labelled(part)]
        self._lines.setdefault((*place, name), part.line)
        if name == "prompt":
            return [_prose(part.rows)]
        if name == "verification_criteria":
            self._criteria(task, place, part.rows)
        elif name in ("key", "title", "role", "qc_role"):
            text = _prose(part.rows)
            task[name] = _lower_key(text) if name == "key" else text
        else:
            return self._list(task, (*place, name), _entries(name, part.rows))
        return []

    def _list(self, task: dict[str, Any], place: Place, entries: Sequence[tuple[int, str]]) -> list[str]:
        name = str(place[-1])
        values, notes = task.setdefault(name, []), []
        for line, text in entries:
            value, note = self._value(name, text)
            if value:
                self._lines[(*place, len(values))] = line
                values.append(value)
            if note:
                notes.append(f"On {name}: {text}")
        return notes

    def _value(self, name: str, text: str) -> tuple[str, bool]:
        """The entry's value, and whether the text says more than that."""
        if name == "depends_on":
            return self._dependency(text), "(" in text
        if name not in ("verification", "files_read", "files_written"):
            return text, False
        if name == "verification" and text.startswith("#"):
            return "", True
        if span := _SPAN.fullmatch(text):
            return span[1].strip(), bool(span[2])
        if name != "verification" and (remark := _REMARK.fullmatch(text)):
            return remark[1].strip("'\""), True
        return text.removeprefix("$ ") if name == "verification" else text.strip("'\""), False

    def _dependency(self, text: str) -> str:
        """The key that is meant: `1.1` is task-1.1 where that is a task."""
        word = _lower_key(text.split("(")[0].split(" - ")[0])
        return next((key for key in (word, f"task-{word}") if key in self._keys), word)

    def _criteria(self, task: dict[str, Any], place: Place, rows: Sequence[tuple[int, str]]) -> None:
        """By group where a label names one; a checklist without groups is what acceptance means."""
        group: str | None = None
        name = ""
        for line, row in rows:
            texts = list(_items([(line, row)]))
            if (label := _LABEL.match(row)) is not None:
                group = _GROUPS.get(label[2].strip().lower(), "other")
                name = f"{label[2].strip()}: " if group == "other" else ""
                texts = _split(label[3])
            for text in texts:
                self._criterion(task, place, group, line, name + text)

    def _criterion(self, task: dict[str, Any], place: Place, group: str | None, line: int, text: str) -> None:
        if group is None:
            values, where = task.setdefault("acceptance_criteria", []), (*place, "acceptance_criteria")
        else:
            values = task.setdefault("verification_criteria", {}).setdefault(group, [])
            where = (*place, "verification_criteria", group)
        self._lines[(*where, len(values))] = line
        values.append(text)


_NO_TASK = "no task was found: a task begins with a heading 'Task 1.1: Title' or a line '**Task ID:** task-1.1'"


def _key_of(section: _Section) -> str:
    given = next((_prose(part.rows) for part in section.fields if part.label.lower() == "task id"), "")
    return _lower_key(given) if given else f"task-{section.number.lower().rstrip('.-')}"


def _lower_key(text: str) -> str:
    return text.strip("`'\"* \t").lower()


def _labelled(part: _Field) -> str:
    """A field that no plan knows, as a paragraph of the prompt."""
    (_, first), *below = part.rows
    return f"{part.label}: {first.strip()}".strip() + (f"\n{text}" if (text := _prose(below)) else "")


def _first_paragraph(rows: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Up to the first empty line after some text."""
    kept: list[tuple[int, str]] = []
    for line, row in rows:
        if row.strip():
            kept.append((line, row))
        elif kept:
            break
    return kept


def _prose(rows: Sequence[tuple[int, str]]) -> str:
    """The rows as text, without the marks of a quotation and the indentation that all share."""
    lines = [re.sub(r"^[ \t]*>[ \t]?", "", row).rstrip() for _, row in rows]
    while lines and not lines[0].strip():
        lines.pop(0)
    return "\n".join(lines).strip()


def _entries(name: str, rows: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """(line, text) of each entry: the label's own line parted at commas, then one per item or line below it."""
    found: list[tuple[int, str]] = []
    for at, (line, row) in enumerate(rows):
        inline = at == 0 and name != "verification"
        found += [(line, text) for text in (_split(row) if inline else _items([(line, row)]))]
    return found


def _items(rows: Sequence[tuple[int, str]]) -> Iterator[str]:
    for _, row in rows:
        text = (match[1] if (match := _ITEM.match(row)) else row).strip()
        if not _FENCE.match(row) and text.lower().strip(".") not in _NOTHING:
            yield text


def _split(row: str) -> list[str]:
    """Parted at the commas and semicolons outside of brackets, quotes and code."""
    text, parts, depth, quote = row.strip(), [""], 0, ""
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    for char in text:
        if quote or char in '`"':
            quote = "" if char == quote else quote or char
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(char, 0) if not quote else 0
        if char in ",;" and depth <= 0 and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return list(_items([(0, part) for part in parts]))
