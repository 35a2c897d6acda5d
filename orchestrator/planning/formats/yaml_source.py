"""YAML in and out. The document is built from the parser's events, not by its constructors: so every place has its
line, a key given twice is seen, nesting and aliases are bounded, and no tag makes an object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from orchestrator.planning.plan_file import PlanFile
from orchestrator.planning.source import DocumentPath, PlanSource, Problem

MAX_DEPTH = 20
MAX_VALUES = 300_000
"""Values after aliases are expanded: a file that is small and expands beyond is a bomb."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_TRUE, _FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
_DIGITS = 300


class _UnreadableError(Exception):
    """YAML that is refused as a whole."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.message, self.line = message, line


def parse_yaml(text: str) -> PlanSource:
    """The document with its lines. What YAML itself cannot read becomes one problem of the whole file."""
    try:
        return _Builder(text).build()
    except _UnreadableError as refused:
        return PlanSource.refused(refused.message, refused.line)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        return PlanSource.refused(f"cannot be read as YAML: {error.problem or error.context}{_hint(text, line)}", line)
    except yaml.YAMLError as error:
        return PlanSource.refused(f"cannot be read as YAML: {str(error).splitlines()[0][:200]}", None)


def _hint(text: str, line: int | None) -> str:
    lines = text.split("\n")
    if line is not None and line <= len(lines) and "\t" in lines[line - 1]:
        return "; the line holds a tab, and YAML is indented with spaces"
    return ""


class _Builder:
    """One pass over the events. `lines` knows places only outside of aliases: an alias has the line where it stands."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
        self._lines: dict[DocumentPath, int] = {}
        self._problems: list[Problem] = []
        self._anchors: dict[str, tuple[Any, int] | None] = {}
        self._values = 0

    def build(self) -> PlanSource:
        document, count = None, 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                count += 1
                if count > 1:
                    raise _UnreadableError("holds more than one document; one plan is one document", _at(event))
                document = self._value(next(self._events), ())
        return PlanSource(document, self._lines, tuple(self._problems))

    def _value(self, event: Any, place: DocumentPath) -> Any:
        self._lines.setdefault(place, _at(event))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if len(place) > MAX_DEPTH:
            raise _UnreadableError(f"is nested deeper than {MAX_DEPTH} levels", _at(event))
        before, anchor = self._values, event.anchor
        if anchor:
            self._anchors[anchor] = None
        self._count(1, event)
        value = self._container_or_scalar(event, place)
        if anchor:
            self._anchors[anchor] = (value, self._values - before)
        return value

    def _container_or_scalar(self, event: Any, place: DocumentPath) -> Any:
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(place)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(place)
        return _scalar(event)

    def _alias(self, event: Any) -> Any:
        known = self._anchors.get(event.anchor)
        if known is None:
            wrong = "refers to itself" if event.anchor in self._anchors else "is not defined before"
            raise _UnreadableError(f"the alias *{event.anchor} {wrong}", _at(event))
        self._count(known[1], event)
        return known[0]

    def _count(self, values: int, event: Any) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            raise _UnreadableError(f"expands to more than {MAX_VALUES:,} values", _at(event))

    def _sequence(self, place: DocumentPath) -> list[Any]:
        values: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            values.append(self._value(event, (*place, len(values))))
        return values

    def _mapping(self, place: DocumentPath) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise _UnreadableError("a field's name must be a text", _at(event))
            name = event.value  # every name is a text: `1:` and `true:` are unknown fields, not other types
            if name in values:
                self._problems.append(Problem((*place, name), _at(event), "is given twice"))
            self._lines[(*place, name)] = _at(event)
            values[name] = self._value(next(self._events), (*place, name))
        return values


def _at(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _scalar(event: Any) -> Any:
    """YAML 1.2's core schema: `yes`, `12:30` and `2026-01-01` are texts."""
    text: str = event.value
    if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
        raise _UnreadableError(f"the tag {event.tag[:60]} is not supported; write plain values", _at(event))
    if event.tag or event.style:
        return text
    if text in _WORDS:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INT.fullmatch(text) and len(text) <= _DIGITS:
        return int(text)
    if _FLOAT.fullmatch(text) and len(text) <= _DIGITS:
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


# --- out ----------------------------------------------------------------------------------------------------------


class _PlanDumper(_DUMPER):  # type: ignore[misc]  # libyaml's class where there is one, chosen at run time
    """Texts of several lines as blocks, as a person would write them."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    style = "|" if "\n" in text and _blockable(text) else None
    if not text.isprintable() and style is None:
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _blockable(text: str) -> bool:
    """Whether a literal block keeps the text: no space where the emitter would lose it, nothing that needs escapes."""
    lines = text.split("\n")
    return not text[:1].isspace() and all(line.isprintable() and line == line.rstrip() for line in lines)


_PlanDumper.add_representer(str, _represent_text)


def dump_plan(plan: PlanFile) -> str:
    """The plan as YAML that read_plan reads back equal; defaults are left out."""
    document = plan.model_dump(mode="json", exclude_defaults=True)
    return str(yaml.dump(document, Dumper=_PlanDumper, sort_keys=False, allow_unicode=True, width=110))
