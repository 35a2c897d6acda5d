"""Baselines: what the plan's commands showed at the commit under the work, before anybody was paid to change it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from orchestrator.domain.attempt import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A run's commands over one commit's tree, each with its answer."""

    run_id: str
    commit: str
    tree: str
    captured_at: datetime
    checks: tuple[Check, ...] = ()

    @property
    def id(self) -> str:
        """One in a run for each tree."""
        return f"{self.run_id}:baseline:{self.tree[:16]}"

    @property
    def tests_collected(self) -> int | None:
        """How many tests the tools told of; None where none did."""
        seen = [check.tests for check in self.checks if check.tests is not None]
        return sum(tests.number + len(tests.skipped) for tests in seen) if seen else None

    @property
    def duration_ms(self) -> float:
        """How long the commands took when they were run."""
        return sum(check.duration_ms for check in self.checks)

    def check_of(self, command: str) -> Check | None:
        """What a command showed; None for one that was not measured: a task's own, for example."""
        return next((check for check in self.checks if check.command == command), None)
