"""How deep foreign JSON or TOML nests: what is read by recursion is exhausted by it."""

from __future__ import annotations

from typing import Any


def nests_deeper(value: Any, levels: int) -> bool:
    """Whether dicts and lists nest more than so many levels within the value, found level by level."""
    level: list[Any] = [value]
    for _ in range(levels):
        tables = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [inner for table in tables for inner in table if isinstance(inner, dict | list)]
    return bool(level)
