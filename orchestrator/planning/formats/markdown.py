"""Markdown chain-outputs: plans as a PM agent writes them in prose, one section a task.

A task begins at a heading `Task 1.1: Title` or a line `**Task ID:** task-1.1`, and ends at the next heading that is
not deeper, or a rule. Within it a line that begins with a bold label opens a field; what no field of a plan takes goes
into the prompt, so that nothing a worker could need is dropped. Sections outside of the tasks are reported by their
headings. `graph_add_edge('a', 'depends_on', 'b')` lines are not read: their writers mean that b depends on a, and the
`Dependencies:` line says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from orchestrator.planning.formats.markdown_outline import FIELDS, GROUPS, Outline, OutlinePart, Section
from orchestrator.planning.formats.markdown_texts import LABEL, entries, first_paragraph, items, prose, split
from orchestrator.planning.source import DocumentPath, PlanSource, Problem

_SPAN = re.compile(r"`([^`]+)`[ \t]*([-–—:(].*)?")
_REMARK = re.compile(r"(\S+)[ \t]+(?:\(.*\)|[-–—][ \t].*)")
_NO_TASK = "no task was found: a task begins with a heading 'Task 1.1: Title' or a line '**Task ID:** task-1.1'"


def parse_markdown(text: str) -> PlanSource:
    """The document that the chain-output describes, with the lines of its fields."""
    outline = Outline()
    for number, row in enumerate(text.split("\n"), start=1):
        outline.read(number, row)
    return _Document(outline).build()


class _Document:
    """The plan's document from the outline, with lines."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._lines: dict[DocumentPath, int] = {}
        self._keys = {_key_of(section) for section in outline.sections}

    def build(self) -> PlanSource:
        problems = [] if self._outline.sections else [Problem(("tasks",), None, _NO_TASK)]
        document: dict[str, Any] = {}
        if self._outline.goal is not None:
            document["goal"] = prose(first_paragraph(self._outline.goal.rows)).strip('"“”')
            self._lines[("goal",)] = self._outline.goal.line
        document["tasks"] = [self._task(at, section) for at, section in enumerate(self._outline.sections)]
        if problems:  # one sentence about the missing tasks, not two
            return PlanSource(document, self._lines, tuple(problems), unreadable=True)
        return PlanSource(document, self._lines, left_out=tuple(self._outline.left_out))

    def _task(self, at: int, section: Section) -> dict[str, Any]:
        place: DocumentPath = ("tasks", at)
        self._lines[place] = section.line
        task: dict[str, Any] = {"key": _key_of(section)}
        if section.title:
            task["title"] = section.title
        prompt = [prose(section.loose)]
        for part in section.fields:
            prompt += self._take(task, place, part)
        task["prompt"] = "\n\n".join(text for text in prompt if text) or section.title
        if "qc_role" not in task and self._outline.shared_qc is not None:
            task["qc_role"] = prose(first_paragraph(self._outline.shared_qc.rows))
        return task

    def _take(self, task: dict[str, Any], place: DocumentPath, part: OutlinePart) -> list[str]:
        """Put the field's value into the task; what belongs into the prompt comes back."""
        name = FIELDS.get(part.label.lower())
        if name is None:
            return [labelled(part)]
        self._lines.setdefault((*place, name), part.line)
        if name == "prompt":
            return [prose(part.rows)]
        if name == "verification_criteria":
            self._criteria(task, place, part.rows)
        elif name in ("key", "title", "role", "qc_role"):
            text = prose(part.rows)
            task[name] = _lower_key(text) if name == "key" else text
        else:
            return self._list(task, (*place, name), entries(name, part.rows))
        return []

    def _list(self, task: dict[str, Any], place: DocumentPath, entries: Sequence[tuple[int, str]]) -> list[str]:
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

    def _criteria(self, task: dict[str, Any], place: DocumentPath, rows: Sequence[tuple[int, str]]) -> None:
        """By group where a label names one; a checklist without groups is what acceptance means."""
        group: str | None = None
        name = ""
        for line, row in rows:
            texts = list(items([(line, row)]))
            if (label := LABEL.match(row)) is not None:
                group = GROUPS.get(label[2].strip().lower(), "other")
                name = f"{label[2].strip()}: " if group == "other" else ""
                texts = split(label[3])
            for text in texts:
                self._criterion(task, place, group, line, name + text)

    def _criterion(self, task: dict[str, Any], place: DocumentPath, group: str | None, line: int, text: str) -> None:
        if group is None:
            values, where = task.setdefault("acceptance_criteria", []), (*place, "acceptance_criteria")
        else:
            values = task.setdefault("verification_criteria", {}).setdefault(group, [])
            where = (*place, "verification_criteria", group)
        self._lines[(*where, len(values))] = line
        values.append(text)


def _key_of(section: Section) -> str:
    given = next((prose(part.rows) for part in section.fields if part.label.lower() == "task id"), "")
    return _lower_key(given) if given else f"task-{section.number.lower().rstrip('.-')}"


def _lower_key(text: str) -> str:
    return text.strip("`'\"* \t").lower()


def labelled(part: OutlinePart) -> str:
    """A field that no plan knows, as a paragraph of the prompt."""
    (_, first), *below = part.rows
    return f"{part.label}: {first.strip()}".strip() + (f"\n{text}" if (text := prose(below)) else "")
