"""Dataclasses to node properties and back: snake case to camel case, structured values to JSON, instants to ISO.

A field `verification_criteria` is the property `verificationCriteriaJson` when it is a mapping, else
`verificationCriteria`. None is no property; 0, false and the empty list are kept.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from neo4j.time import DateTime

from orchestrator.domain.text import camel

_T = TypeVar("_T")
Reader = Callable[[Any], Any]


def iso(instant: datetime) -> str:
    """An aware instant as an ISO 8601 string in UTC, for `datetime($x)`. Raises ValueError for a naive one."""
    if instant.tzinfo is None:
        raise ValueError(f"instant without a zone: {instant}")
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def instant(value: Any) -> Any:
    """A stored instant as an aware datetime in UTC."""
    native = value.to_native() if isinstance(value, DateTime) else value
    return native.astimezone(UTC) if isinstance(native, datetime) else native


def file_name(path: str) -> str:
    """A file's display name."""
    return path.rpartition("/")[2] or path


def properties(record: Any, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """A dataclass's fields as properties."""
    names = (field.name for field in dataclasses.fields(record))
    return mapping_properties({name: getattr(record, name) for name in names if name not in without})


def mapping_properties(values: Mapping[str, Any]) -> dict[str, Any]:
    """Snake case names and plain values as properties. Mappings come as themselves, for `finish` to write out."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            result[f"{camel(name)}Json"] = value
        elif isinstance(value, datetime):
            result[camel(name)] = iso(value)
        else:
            result[camel(name)] = list(value) if isinstance(value, tuple) else value
    return result


def finish(values: Mapping[str, Any]) -> dict[str, Any]:
    """Properties with mappings written out as JSON: the last step, after secrets were replaced inside them."""
    return {name: _json(value) if isinstance(value, Mapping) else value for name, value in values.items()}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def build(cls: type[_T], stored: Mapping[str, Any], **known: Any) -> _T:
    """A dataclass from a node's properties; `known` gives fields that are not properties. A missing property is None
    where the field may be None, else the empty collection, else the field's default."""
    values = dict(known)
    kind: Any = cls
    for name, key, read, default in _readers(kind):
        if name in known:
            continue
        if stored.get(key) is not None:
            values[name] = read(stored[key])
        elif default is not dataclasses.MISSING:
            values[name] = default
    return cls(**values)


@cache
def _readers(cls: Any) -> tuple[tuple[str, str, Reader, Any], ...]:
    hints = get_type_hints(cls)
    found = []
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        key = camel(field.name) + ("Json" if _is_mapping(hint) else "")
        found.append((field.name, key, _reader(hint), _when_missing(hint)))
    return tuple(found)


def _is_mapping(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _reader(hint: Any) -> Reader:
    if _is_mapping(hint):
        return _from_json
    if get_origin(hint) is tuple:
        return tuple
    if hint is datetime or datetime in get_args(hint):
        return instant
    return lambda value: value


def _when_missing(hint: Any) -> Any:
    if get_origin(hint) is tuple:
        return ()
    if get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint):
        return None
    return dataclasses.MISSING


def _from_json(text: str) -> Any:
    """With the lists of its top level as tuples, as Task.verification_criteria has them."""
    return {key: tuple(item) if isinstance(item, list) else item for key, item in json.loads(text).items()}
