"""What becomes of a finding over a task's check passes, as screens, reports and the next worker are told it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from orchestrator.domain.attempt import AttemptOutcome
from orchestrator.domain.text import in_a_row

Mark = Literal["new", "still", "gone", "back", "milder", "unobserved"]
"""How a finding stands in one pass: there for the first time, there as in the one before, gone though looked for, there
again, no longer reason enough to reject, or not looked for, so that it is taken to be there."""

_WORDS: dict[Mark, str] = {"still": "still there", "milder": "only a warning", "unobserved": "not looked for"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingLife:
    """One finding with the number of each attempt in which something is to be said of it, in order."""

    fingerprint: str
    code: str
    locus: str
    marks: tuple[tuple[int, Mark], ...]

    @property
    def told(self) -> str:
        """`new in attempt 1, still there in 2 and 3, gone in 4, back in 5`."""
        parts = [
            f"{_WORDS.get(mark, mark)} in {in_a_row([str(number) for number, _ in run])}"
            for mark, run in groupby(self.marks, key=lambda each: each[1])
        ]
        return ", ".join(parts).replace(" in ", " in attempt ", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAttempt:
    """How an earlier attempt ended, and what it came to beside the one before it (None: an older release)."""

    number: int
    status: str
    reason: str
    outcome: AttemptOutcome | None


@dataclass(frozen=True, slots=True)
class Course:
    """A task's last attempts, oldest first, with the lives of their findings."""

    attempts: tuple[PastAttempt, ...]
    lives: tuple[FindingLife, ...]
