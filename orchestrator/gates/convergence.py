"""Whether a task's attempts come nearer to their end: a fold over the check passes that rejected them.

What a pass found is the multiset of its blocking findings' fingerprints. The same multiset again, or work that did not
change, is a stall; a finding that was there before and had gone is an oscillation; a part of the last one is progress.
Stalls, oscillations and findings that stay for long while nothing becomes better raise the stage: from 2 on an attempt
is held to a smaller change, and the last stage ends the task.
The fold reads recorded passes alone, so a resumed process finds the stage and the counts of the one that died.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate

from orchestrator.domain.attempt import AttemptSummary, Trend
from orchestrator.gates.convergence_limits import ConvergenceLimits
from orchestrator.gates.progress import CheckPass, no_net_progress, recorded_pass, trend_of

_STALLS: frozenset[Trend] = frozenset({"stalled", "no_change"})
_STUCK: frozenset[Trend] = frozenset({"persistent", "regressed"})


@dataclass(frozen=True, slots=True)
class Ground:
    """What an attempt was made on. What an older release did not record is None, and compares as unchanged."""

    prompt: str | None = None
    model: str | None = None
    budget: int | None = None
    paths: tuple[str, ...] | None = None
    base: str | None = None

    @classmethod
    def of(cls, attempt: AttemptSummary) -> Ground:
        """What a past attempt was made on."""
        paths = json.loads(attempt.limits_json).get("taskPaths")
        return cls(
            prompt=attempt.prompt_hash,
            model=attempt.model or None,
            budget=attempt.tool_call_budget,
            paths=None if paths is None else tuple(paths),
            base=attempt.base_commit,
        )

    def changes(self, later: Ground) -> tuple[str, ...]:
        """Which of prompt, model, budget, paths and base are others now."""
        return tuple(
            name
            for name in (field.name for field in fields(self))
            if None not in (getattr(self, name), getattr(later, name)) and getattr(self, name) != getattr(later, name)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence:
    """Where a task stands behind its newest rejected pass. `stalls` counts the passes in a row that came no nearer to
    an end, anew in each stage, and `progress` those that each found a part of the last one's. `passes` are all of them,
    `seen` those that a new one is compared with, and `failed` says that the last stage was reached."""

    stage: int = 1
    stalls: int = 0
    progress: int = 0
    trend: Trend | None = None
    failed: bool = False
    passes: int = 0
    seen: tuple[CheckPass, ...] = ()

    @property
    def taken_up(self) -> Convergence:
        """Where the next attempt begins: one that has ended is only tried again by a person, and begins anew."""
        return Convergence() if self.failed else self

    def observe(self, found: CheckPass, limits: ConvergenceLimits) -> Convergence:
        """The state behind one more pass. What ended the task, or what a person has changed since, is over: it begins
        anew. The same state where convergence is switched off, and behind a pass that it has seen."""
        if not limits.enabled or (found.id and any(found.id == each.id for each in self.seen)):
            return self
        before = Convergence() if found.anew else self.taken_up
        found = found.behind(before.seen[-1] if before.seen else None)
        trend = trend_of(before.seen, found, limits.no_net_progress_after)
        stuck = trend in _STUCK and no_net_progress(before.seen, found, limits.no_net_progress_after)
        stalls = before.stalls + 1 if trend in _STALLS or stuck else 1
        progress = before.progress + 1 if trend == "progress" else 0
        now = Convergence(
            stage=before.stage,
            stalls=stalls,
            progress=progress,
            trend=trend,
            passes=before.passes + 1,
            seen=(*before.seen, found),
        )
        if trend == "oscillating" or (trend != "progress" and stalls >= limits.stall_threshold):
            return now._raised(found, limits)
        if progress >= limits.progress_falls_after:
            return replace(now, stage=max(now.stage - 1, 1), progress=0)
        return now

    def _raised(self, found: CheckPass, limits: ConvergenceLimits) -> Convergence:
        """One stage up. Only the newest pass is remembered, or the same stall would be found again at once."""
        stage = min(self.stage + 1, limits.max_stage)
        if stage == limits.max_stage and limits.fail_on_max_stage:
            return replace(self, stage=stage, failed=True)
        return replace(self, stage=stage, stalls=0, progress=0, seen=(found,))


def convergence(passes: Iterable[CheckPass], limits: ConvergenceLimits) -> Convergence:
    """Where a task stands behind these passes, oldest first."""
    return courses(passes, limits)[-1]


def courses(passes: Iterable[CheckPass], limits: ConvergenceLimits) -> Sequence[Convergence]:
    """The state before the first pass, and behind each."""
    return list(accumulate(passes, lambda state, found: state.observe(found, limits), initial=Convergence()))


def rejected_passes(attempts: Sequence[AttemptSummary]) -> tuple[CheckPass, ...]:
    """The passes that rejected a task's attempts, in any of its runs, since one was accepted. Attempts that came to no
    verdict, or that a bound stopped, say nothing about the failures."""
    passes: list[CheckPass] = []
    last: AttemptSummary | None = None
    for attempt in attempts:
        if attempt.status == "accepted":
            passes, last = [], None
        elif attempt.status == "rejected":
            anew = last is not None and bool(changed_since(last, Ground.of(attempt), attempt.run_id))
            if (found := recorded_pass(attempt, anew=anew)) is not None:
                passes.append(found)
                last = attempt
    return tuple(passes)


def changed_since(last: AttemptSummary, ground: Ground, run_id: str) -> tuple[str, ...]:
    """What of its ground a person has changed since this attempt. Within a run the base moves with every merge, which
    is nobody's change of this task."""
    changes = Ground.of(last).changes(ground)
    return tuple(name for name in changes if name != "base" or last.run_id != run_id)
