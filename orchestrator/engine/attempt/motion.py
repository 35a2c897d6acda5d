"""What an attempt has moved: the pass that rejects it, beside those of the attempts before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestrator.domain.attempt import AttemptOutcome, AttemptResult, AttemptSummary
from orchestrator.domain.finding import Finding
from orchestrator.domain.fix import Fix
from orchestrator.gates.convergence import Convergence, rejected_passes
from orchestrator.gates.convergence_limits import ConvergenceLimits
from orchestrator.gates.fixes import proven_fixes
from orchestrator.gates.lives import judge_returned, lives
from orchestrator.gates.progress import (
    CheckPass,
    chained,
    check_pass,
    failure_counts,
    outcome_of,
    reappeared,
    refuses_change,
)

if TYPE_CHECKING:
    from orchestrator.engine.attempt.result import AttemptEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion:
    """What the attempt came to, where its task stands behind it, and what the gates found, with those that are back."""

    outcome: AttemptOutcome
    converged: Convergence
    findings: tuple[Finding, ...]
    fixes: tuple[Fix, ...] = ()

    def told_in(self, result: AttemptResult) -> AttemptResult:
        """The attempt's result with it."""
        return replace(result, outcome=self.outcome, findings=self.findings, fixes=self.fixes)


def motion_of(
    end: AttemptEnd,
    held: tuple[Finding, ...],
    earlier: Sequence[AttemptSummary],
    converged: Convergence,
    limits: ConvergenceLimits,
) -> Motion:
    """What became of a task that stood at `converged`, by what is held against its attempt."""
    seen, found = chained(rejected_passes(earlier)), _pass_behind(end, held)
    own = end.verified.findings if end.verified else ()
    if found is None:  # it says nothing about failures
        outcome = outcome_of(end.status, seen, None, refused=False)
        return Motion(outcome=outcome, converged=replace(converged, trend=None), findings=own)
    known = [*(finding for attempt in earlier for finding in attempt.findings), *held]
    whole = chained((*seen, found))[-1]
    rejected = end.status == "rejected"
    return Motion(
        outcome=outcome_of(end.status, seen, whole, refuses_change(held)),
        converged=converged.observe(found, limits) if rejected else replace(converged, trend=None),
        findings=(*own, *judge_returned(reappeared(seen, whole), lives((*seen, whole), known))),
        fixes=proven_fixes(seen[-1], whole, known, end.changes) if seen else (),
    )


def _pass_behind(end: AttemptEnd, held: tuple[Finding, ...]) -> CheckPass | None:
    """The check pass that the attempt came to; None where it ended without a verdict."""
    if end.status not in ("rejected", "accepted") or end.verified is None:
        return None
    return check_pass(
        failure_counts(held),
        end.verified.tree,
        (*held, *end.verified.findings),
        end.verified.checks,
        end.review.passed if end.review else None,
        id_=end.verified.id,
        attempt=end.number,
    )
