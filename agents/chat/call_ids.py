"""Ids for tool calls that bring none."""

from __future__ import annotations

from uuid import uuid4


def new_call_id() -> str:
    """A fresh tool call id, for replies that bring none."""
    return f"call_{uuid4().hex[:16]}"
