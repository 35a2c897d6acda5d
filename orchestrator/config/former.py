"""Settings of former releases: refused with what stands in their place, so that no upgrade goes unnoticed."""

from __future__ import annotations

from collections.abc import Mapping

ROLES = ("planner", "worker", "verifier")
_MODEL = {"idle_timeout": "idle_timeout_s", "timeout": "timeout_s"}

RENAMED: Mapping[str, str] = {
    **{f"models.{role}.{old}": f"models.{role}.{new}" for role in ROLES for old, new in _MODEL.items()},
    "sandbox.command_timeout": "sandbox.command_timeout_s",
    "sandbox.idle_timeout": "sandbox.idle_timeout_s",
    "checks.timeout": "checks.timeout_s",
    "complexity.many_criteria": "complexity.max_criteria",
    "run.stops": "run.max_stopped_attempts",
}
"""Dotted name of then -> dotted name of now. The value means what it meant."""

_OF_NAMES = "only set a warning that nobody was told, and is gone: calls are compared with their outcomes"
GONE: Mapping[str, str] = {
    **{f"guards.name_{part}": _OF_NAMES for part in ("sequence", "window", "repeats")},
    "guards.shrinking_diffs": "stopped honest work by chance, and is gone: guards.thrash_stop counts what is rewritten",
}
"""Dotted name -> what became of it."""


def former(name: str) -> str:
    """What the refusal of a setting that there was says; empty for a name that no setting ever had."""
    if name in RENAMED:
        return f"{name} is now {RENAMED[name]}."
    return f"{name} {GONE[name]}." if name in GONE else ""
