"""The signature of a call: what makes two calls the same one."""

from __future__ import annotations

import hashlib
import json
from typing import Any

MOST_NESTING = 64


def canonical(value: Any, depth: int = 0) -> Any:
    """JSON with one spelling for one value: 1.0 is 1; "13", 13 and True stay apart. Raises ValueError for nesting
    beyond 64 levels."""
    if depth > MOST_NESTING:
        raise ValueError(f"nested more than {MOST_NESTING} levels deep")
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {name: canonical(inner, depth + 1) for name, inner in value.items()}
    return [canonical(inner, depth + 1) for inner in value] if isinstance(value, list) else value


def signature(tool: str, arguments: Any) -> str:
    """16 hex digits over the tool and its canonical arguments; key order does not matter."""
    text = json.dumps([tool, arguments], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
