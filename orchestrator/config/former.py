"""Settings under the names that they had once: refused with the name of today, so that no upgrade goes unnoticed."""

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
