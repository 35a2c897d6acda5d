"""Small immutable memories: bounded, so that a fold's step costs the same at call 10 and at call 10,000."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MOST = 256
"""Entries that a memory keeps. What is older is forgotten, which makes a guard milder, never stricter."""


def remember(memory: Mapping[K, V], key: K, value: V, most: int = MOST) -> Mapping[K, V]:
    """A copy of `memory` in which `key` is the newest entry; the oldest goes when there are more than `most`."""
    copy = dict(memory)
    copy.pop(key, None)
    copy[key] = value
    if len(copy) > most:
        del copy[next(iter(copy))]
    return copy


def forget(memory: Mapping[K, V], key: K) -> Mapping[K, V]:
    """`memory` without `key`; itself when the key is not in it."""
    return {k: v for k, v in memory.items() if k != key} if key in memory else memory
