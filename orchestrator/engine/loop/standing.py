"""Where a conversation stands, for those who decide about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Standing:
    """The workspace's tree, and the latest calls in one line each with their status, oldest first."""

    tree: str
    recent_calls: tuple[str, ...] = ()
