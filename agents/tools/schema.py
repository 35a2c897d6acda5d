"""The wire form of a tool: strict JSON Schema drawn from the pydantic model of its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from agents.chat.port import ToolSchema

_NOISE = frozenset({"title", "default", "$defs"})


def tool_schema(name: str, described: type[BaseModel], drawn_from: type[BaseModel]) -> ToolSchema:
    """A tool in the chat completions form: one model's docstring describes it, one's fields are its parameters."""
    description = " ".join((inspect.getdoc(described) or "").split())
    function = {"name": name, "description": description, "parameters": parameters(drawn_from)}
    return {"type": "function", "function": function}


def parameters(model: type[BaseModel]) -> dict[str, Any]:
    """The model's JSON Schema in its plainest form: no references, titles or defaults, objects closed, and an optional
    value told by its absence alone; endpoints differ in what else of JSON Schema they accept."""
    schema = model.model_json_schema()
    plain = _plain(schema, schema.get("$defs", {}))
    plain.pop("description", None)
    return {"type": "object", "properties": {}, **plain}


def _plain(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    schema = _one_branch(_resolved(schema, definitions))
    schema = _resolved(schema, definitions)
    plain = {key: value for key, value in schema.items() if key not in _NOISE}
    if "properties" in plain:
        plain["properties"] = {name: _plain(inner, definitions) for name, inner in plain["properties"].items()}
        plain.setdefault("additionalProperties", False)
    for key in ("items", "additionalProperties"):
        if isinstance(plain.get(key), Mapping):
            plain[key] = _plain(plain[key], definitions)
    if "anyOf" in plain:
        plain["anyOf"] = [_plain(branch, definitions) for branch in plain["anyOf"]]
    return plain


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {**definitions[schema["$ref"].rpartition("/")[2]], **rest}


def _one_branch(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """`X | None` as X."""
    branches = [branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"]
    if len(branches) != 1:
        return schema
    return {**branches[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
