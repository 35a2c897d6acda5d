"""How big a task is, by arithmetic over what it declares.

    score = 10*filesWritten + 2*filesRead + 5*acceptanceCriteria + 3*edgeCases + 5*dependencies + 5*verification
            + 5*verificationCriteria

Verification counts the task's own commands. What QC is to read for counts like an acceptance criterion, because the
work has to meet it as well: a task that hid nine of its thirteen criteria there was called moderate, and spiralled.
The rule against many criteria in several files counts acceptance criteria alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from orchestrator.domain.task import Assessment, Band, TaskKind
from orchestrator.planning.plan_file import TaskFile

_WEIGHTS = {
    "files_written": 10,
    "files_read": 2,
    "acceptance_criteria": 5,
    "edge_cases": 3,
    "dependencies": 5,
    "verification_commands": 5,
    "verification_criteria": 5,
}
_LEAST_HISTORY = 5
_HISTORY_SHARE = 0.95


class Thresholds(Protocol):
    """The numbers of the rule; the settings' `[complexity]` is one."""

    @property
    def moderate_from(self) -> int:
        """Scores from here on are moderate [50]."""

    @property
    def refused_above(self) -> int:
        """Scores above are refused [100]."""

    @property
    def max_criteria(self) -> int:
        """A task with more than one written file and so many criteria is refused [8]."""


class Budgets(Protocol):
    """Tool calls by kind, and whether history may lower them; the settings' `[budgets]` is one."""

    @property
    def simple(self) -> int: ...
    @property
    def moderate(self) -> int: ...
    @property
    def complex(self) -> int: ...
    @property
    def research(self) -> int: ...
    @property
    def from_history(self) -> bool: ...


def counts_of(task: TaskFile) -> dict[str, int]:
    """What a task declares, counted: the factors of the score."""
    return {
        "files_written": len(task.files_written),
        "files_read": len(task.files_read),
        "acceptance_criteria": len(task.acceptance_criteria),
        "edge_cases": len(task.edge_cases),
        "dependencies": len(task.depends_on),
        "verification_commands": len(task.verification),
        "verification_criteria": sum(len(texts) for texts in task.verification_criteria.model_dump().values()),
    }


def band_of(score: int, thresholds: Thresholds) -> Band:
    """simple below the first threshold, moderate up to and with the second, too_complex above."""
    if score > thresholds.refused_above:
        return "too_complex"
    return "moderate" if score >= thresholds.moderate_from else "simple"


def estimate(score: int, thresholds: Thresholds) -> int:
    """Tool calls expected before there is any history: the score, twice the score above the refusing threshold."""
    return 2 * score if score > thresholds.refused_above else score


def assess(task: TaskFile, thresholds: Thresholds, refusals: tuple[str, ...] = ()) -> Assessment:
    """The arithmetic about one task. `refusals` are further reasons to reject it, found by pre-flight; the task's
    override lets it pass all of them and is recorded beside the reasons it overrode."""
    counts = counts_of(task)
    score = sum(_WEIGHTS[name] * count for name, count in counts.items())
    band, too_complex = band_of(score, thresholds), _too_complex(task, score, thresholds)
    reasons = (*too_complex, *refusals)
    justified = task.override is not None
    word = ""
    if too_complex:
        word = _split_by_file(task) if len(task.files_written) > 1 else _split_by_criteria(task, thresholds)
    elif task.kind == "simple" and band == "moderate":
        word = f"The score {score} is moderate, not simple: the moderate budget applies."
    return Assessment(
        **counts,
        score=score,
        band=band,
        estimated_tool_calls=estimate(score, thresholds),
        threshold=thresholds.refused_above,
        recommendation=word,
        rejected_because=reasons,
        overridden=justified and (bool(reasons) or task.kind in ("complex", "research")),
        justification=task.override or "",
        loosened=(),
    )


def effective_kind(task: TaskFile, band: Band) -> TaskKind:
    """The kind that sets the budget: the greater of the one declared and the one of the band. A task is not made
    smaller by calling it simple."""
    by_band: TaskKind = "complex" if band == "too_complex" else band
    order: list[TaskKind] = ["simple", "moderate", "complex", "research"]
    return max(by_band, task.kind or by_band, key=order.index)


def budget_of(kind: TaskKind, budgets: Budgets) -> int:
    """Tool calls of one attempt by kind."""
    budget: int = getattr(budgets, kind)
    return budget


def budget_from_history(accepted_calls: Sequence[int], own: int) -> int:
    """What history suggests for a kind whose `own` budget is the settings', given the tool calls of its accepted
    attempts: the 95th percentile (nearest rank), rounded up to the next 5, within half of `own` and `own`. Fewer than
    5 attempts say nothing."""
    if len(accepted_calls) < _LEAST_HISTORY:
        return own
    rank = math.ceil(_HISTORY_SHARE * len(accepted_calls))
    needed = sorted(accepted_calls)[rank - 1]
    return min(max(5 * math.ceil(needed / 5), math.ceil(own / 2)), own)


def _too_complex(task: TaskFile, score: int, thresholds: Thresholds) -> tuple[str, ...]:
    reasons, written, criteria = [], len(task.files_written), len(task.acceptance_criteria)
    if score > thresholds.refused_above:
        reasons.append(f"too complex: score {score}, limit {thresholds.refused_above}; split it")
    if written > 1 and criteria >= thresholds.max_criteria:
        reasons.append(
            f"too much at once: {written} files written with {criteria} criteria, "
            f"limit {thresholds.max_criteria - 1}; split it by file"
        )
    return tuple(reasons)


def _split_by_file(task: TaskFile) -> str:
    parts = [f"{task.key}.{number} writes {path}" for number, path in enumerate(task.files_written, start=1)]
    return (
        f"Split into {len(parts)} tasks, one per written file, each after the one before: {'; '.join(parts)}. "
        "Give each the criteria, edge cases and verification that concern its file alone."
    )


def _split_by_criteria(task: TaskFile, thresholds: Thresholds) -> str:
    counts = counts_of(task)
    criteria = counts["acceptance_criteria"] + counts["verification_criteria"]
    groups = max(2, -(-criteria // max(1, thresholds.max_criteria // 2)))
    return (
        f"Split into {groups} tasks, each after the one before, with about {-(-criteria // groups)} of the {criteria} "
        "acceptance criteria and verification criteria, and the edge cases, files and commands that belong to them."
    )
