"""The merge gate: what another task of the run changed in a conflicting way."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.domain.finding import Finding
from orchestrator.gates.finding import make_finding


def judge_conflicts(paths: Iterable[str]) -> tuple[Finding, ...]:
    """One finding for each path that does not merge."""
    return tuple(
        make_finding(
            "check",
            "merge_conflict",
            path,
            f"Another task of this run changed {path} in a conflicting way.",
            f"Make the change to {path} again, on top of what is there now.",
        )
        for path in paths
    )
