"""Whether a task's attempts come nearer to their end: a fold over the check passes that rejected them.

What a pass found is the multiset of its blocking findings' fingerprints. The same multiset again, or work that did not
change, is a stall; one that was there before and had gone is an oscillation; a part of the last one is progress. Stalls
and oscillations raise the stage: from 2 on an attempt is held to a smaller change, and the last stage ends the task.
The fold reads recorded passes alone, so a resumed process finds the stage and the counts of the one that died.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate

from orchestrator.domain.attempt import AttemptSummary, Decision, Trend
from orchestrator.domain.finding import Finding
from orchestrator.gates.convergence_limits import ConvergenceLimits

_STALLS: frozenset[Trend] = frozenset({"stalled", "no_change"})


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
class RejectedPass:
    """A check pass that rejected an attempt: its failures with how often each was there, and the tree that it judged.
    `anew` says that a person changed what the task is tried on since the pass before it."""

    failures: tuple[tuple[str, int], ...]
    tree: str
    anew: bool = False

    @classmethod
    def of(cls, decision: Decision, *, anew: bool = False) -> RejectedPass:
        """The pass behind a recorded decision. One without `counts` is of an older release: each counts once."""
        counted: Counter[str] = Counter()
        counts = decision.counts or (1,) * len(decision.fingerprints)
        for fingerprint, count in zip(decision.fingerprints, counts, strict=False):
            counted[fingerprint] += max(count, 1)
        return cls(failures=tuple(sorted(counted.items())), tree=decision.diff_hash, anew=anew)

    def part_of(self, other: RejectedPass) -> bool:
        """Whether something of the other's failures is gone and nothing has come."""
        return Counter(dict(self.failures)) < Counter(dict(other.failures))


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence:
    """Where a task stands behind its newest rejected pass. `stalls` counts the passes in a row with the same failures,
    anew in each stage, and `progress` those that each found a part of the last one's. `passes` are all of them, `seen`
    those that a new one is compared with, and `failed` says that the last stage was reached."""

    stage: int = 1
    stalls: int = 0
    progress: int = 0
    trend: Trend | None = None
    failed: bool = False
    passes: int = 0
    seen: tuple[RejectedPass, ...] = ()

    @property
    def taken_up(self) -> Convergence:
        """Where the next attempt begins: one that has ended is only tried again by a person, and begins anew."""
        return Convergence() if self.failed else self

    def observe(self, found: RejectedPass, limits: ConvergenceLimits) -> Convergence:
        """The state behind one more pass. What ended the task, or what a person has changed since, is over: it begins
        anew. The same state where convergence is switched off."""
        if not limits.enabled:
            return self
        before = Convergence() if found.anew else self.taken_up
        trend = _trend(before.seen, found)
        stalls = before.stalls + 1 if trend in _STALLS else 1
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

    def _raised(self, found: RejectedPass, limits: ConvergenceLimits) -> Convergence:
        """One stage up. Only the newest pass is remembered, or the same stall would be found again at once."""
        stage = min(self.stage + 1, limits.max_stage)
        if stage == limits.max_stage and limits.fail_on_max_stage:
            return replace(self, stage=stage, failed=True)
        return replace(self, stage=stage, stalls=0, progress=0, seen=(found,))


def failure_counts(findings: Iterable[Finding]) -> tuple[tuple[str, int], ...]:
    """The fingerprints of what blocks, sorted, each with how often it was seen."""
    counted: Counter[str] = Counter()
    for finding in findings:
        if finding.blocking:
            counted[finding.fingerprint] += finding.count
    return tuple(sorted(counted.items()))


def convergence(passes: Iterable[RejectedPass], limits: ConvergenceLimits) -> Convergence:
    """Where a task stands behind these passes, oldest first."""
    return courses(passes, limits)[-1]


def courses(passes: Iterable[RejectedPass], limits: ConvergenceLimits) -> Sequence[Convergence]:
    """The state before the first pass, and behind each."""
    return list(accumulate(passes, lambda state, found: state.observe(found, limits), initial=Convergence()))


def rejected_passes(attempts: Sequence[AttemptSummary]) -> tuple[RejectedPass, ...]:
    """The passes that rejected a task's attempts, in any of its runs, since one was accepted. Attempts that came to no
    verdict, or that a bound stopped, say nothing about the failures."""
    passes: list[RejectedPass] = []
    last: AttemptSummary | None = None
    for attempt in attempts:
        if attempt.status == "accepted":
            passes, last = [], None
        elif attempt.status == "rejected" and attempt.decision is not None:
            anew = last is not None and bool(changed_since(last, Ground.of(attempt), attempt.run_id))
            passes.append(RejectedPass.of(attempt.decision, anew=anew))
            last = attempt
    return tuple(passes)


def changed_since(last: AttemptSummary, ground: Ground, run_id: str) -> tuple[str, ...]:
    """What of its ground a person has changed since this attempt. Within a run the base moves with every merge, which
    is nobody's change of this task."""
    changes = Ground.of(last).changes(ground)
    return tuple(name for name in changes if name != "base" or last.run_id != run_id)


def _trend(seen: tuple[RejectedPass, ...], found: RejectedPass) -> Trend:
    if not seen:
        return "first"
    last = seen[-1]
    if found.tree == last.tree:
        return "no_change"
    if found.failures == last.failures:
        return "stalled"
    if any(found.failures == earlier.failures or found.tree == earlier.tree for earlier in seen[:-1]):
        return "oscillating"
    return "progress" if found.part_of(last) else "changed"
