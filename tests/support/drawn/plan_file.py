"""The fields of a plan file, from the pydantic model's JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from orchestrator.planning.plan_file import DeclaredCheck, PlanFile, TaskFile, VerificationCriteria
from tests.support.drawn.markdown import table

_MODELS: Mapping[str, type[BaseModel]] = {
    "plan": PlanFile,
    "task": TaskFile,
    "criteria": VerificationCriteria,
    "check": DeclaredCheck,
}
_TYPES = {
    "string": "text",
    "integer": "whole number",
    "boolean": "true or false",
    "object": "table",
    "array": "list",
    "null": "",
}
_BOUNDS = {
    "maxLength": "at most {} characters",
    "minimum": "from {}",
    "maximum": "to {}",
    "minItems": "at least {}",
    "maxItems": "at most {}",
}


def fields(part: str) -> str:
    """The table of a `plan`, a `task` or its `criteria`, or of a `check`."""
    schema = _MODELS[part].model_json_schema()
    rows = [_row(name, field, name in schema.get("required", ())) for name, field in schema["properties"].items()]
    return table(("field", "type", "default", "meaning"), rows)


def _row(name: str, field: dict[str, Any], required: bool) -> list[str]:
    return [f"`{name}`", _type(field), "required" if required else _default(field), field.get("description", "")]


def _type(field: dict[str, Any]) -> str:
    options = field.get("anyOf", [field])
    return ", ".join(_words(option) for option in options if option.get("type") != "null")


def _words(option: dict[str, Any]) -> str:
    if "$ref" in option:
        return "list of tasks" if "Task" in option["$ref"] else "table"
    if "enum" in option:
        return " or ".join(f"`{value}`" for value in option["enum"])
    kind = _TYPES[option["type"]]
    items = option.get("items", {})
    of = {"#/$defs/TaskFile": "tasks", "#/$defs/DeclaredCheck": "checks"}.get(items.get("$ref", ""), "texts")
    bounds = ", ".join(_bounds(option))
    return f"{kind} of {of}" * (kind == "list") + kind * (kind != "list") + (f", {bounds}" if bounds else "")


def _bounds(option: dict[str, Any]) -> Iterator[str]:
    return (words.format(f"{option[key]:,}") for key, words in _BOUNDS.items() if key in option)


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value is None:
        return "none"
    return "none" if value in ([], {}) or isinstance(value, dict) else f"`{value}`"
