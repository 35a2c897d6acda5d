"""The complexity score, its bands and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.settings import BudgetsSettings, ComplexitySettings
from orchestrator.domain.task import Assessment, TaskKind
from orchestrator.planning.complexity import assess, band_of, budget_of, effective_kind, estimate
from orchestrator.planning.plan_file import TaskFile

RULES = ComplexitySettings()


def task(written: int = 0, read: int = 0, criteria: int = 0, edges: int = 0, **fields: Any) -> TaskFile:
    return TaskFile.model_validate(
        {
            "key": "a",
            "prompt": "Do it.",
            "files_written": [f"w{n}" for n in range(written)],
            "files_read": [f"r{n}" for n in range(read)],
            "acceptance_criteria": [f"c{n}" for n in range(criteria)],
            "edge_cases": [f"e{n}" for n in range(edges)],
            **fields,
        }
    )


def judged(*counts: int, **fields: Any) -> Assessment:
    return assess(task(*counts, **fields), RULES)


def test_weights_of_the_score() -> None:
    """score = 10 written + 2 read + 5 criteria + 3 edge cases + 5 dependencies + 5 verification, of either sort."""
    assert judged(1, 1, 1, 1, depends_on=["x"], verification=["make"]).score == 10 + 2 + 5 + 3 + 5 + 5
    assessment = judged(1, 2, 3, 4, depends_on=["x"], verification=["make", "make test"])
    assert assessment.score == 10 + 4 + 15 + 12 + 5 + 10
    assert (assessment.dependencies, assessment.verification_commands) == (1, 2)


@pytest.mark.parametrize(
    ("score", "band"), [(0, "simple"), (49, "simple"), (50, "moderate"), (100, "moderate"), (101, "too_complex")]
)
def test_bands(score: int, band: str) -> None:
    """49 is simple, 50 and 100 are moderate, 101 is refused."""
    assert band_of(score, RULES) == band


def test_thresholds_are_settings() -> None:
    """Other thresholds move the bands."""
    rules = ComplexitySettings(moderate_from=10, refused_above=20)
    assert [band_of(score, rules) for score in (9, 10, 20, 21)] == ["simple", "moderate", "moderate", "too_complex"]


def test_estimate_doubles_above_the_refusing_threshold() -> None:
    """estimatedToolCalls begins as the score, above 100 as twice the score."""
    assert [estimate(score, RULES) for score in (0, 100, 101)] == [0, 100, 202]


def test_score_over_the_limit_is_refused_with_a_split() -> None:
    """101 is refused, with a split by file."""
    assessment = judged(5, 3, 4, 5, verification=["make", "make test"])
    assert assessment.score == 101
    assert "score 101, limit 100" in assessment.rejected_because[0]
    assert all(f"a.{n + 1} writes w{n}" in assessment.recommendation for n in range(5))


def test_many_criteria_with_more_than_one_file_are_refused() -> None:
    """More than one written file with 8 criteria is refused whatever the score; either alone is not."""
    assert "limit 7" in judged(2, 0, 8).rejected_because[0]
    assert judged(2, 0, 8).score == 60
    assert not judged(1, 0, 8).rejected_because
    assert not judged(2, 0, 7).rejected_because


def test_what_qc_reads_for_counts_like_an_acceptance_criterion() -> None:
    """In the score, whatever its group; the rule against many criteria in several files counts acceptance criteria."""
    criteria = {"security": [f"s{n}" for n in range(4)], "other": ["o"]}
    assessment = judged(2, 0, 7, verification_criteria=criteria)
    assert (assessment.score, assessment.verification_criteria) == (judged(2, 0, 7).score + 5 * 5, 5)
    assert not assessment.rejected_because


def test_a_task_that_is_all_reading_is_split_by_what_is_read_for() -> None:
    """The proposal counts both sorts of criteria."""
    assert (
        "of the 21 acceptance criteria"
        in judged(1, verification_criteria={"other": [f"c{n}" for n in range(21)]}).recommendation
    )


def test_one_file_too_complex_is_split_by_criteria() -> None:
    """Where one file is written the proposal is by criteria."""
    assert "acceptance criteria" in judged(1, 0, 20).recommendation


def test_override_is_recorded_with_its_reasons() -> None:
    """An override passes the refusal and keeps what it overrode."""
    assessment = judged(6, 10, 5, override="One rename everywhere.")
    assert assessment.overridden
    assert assessment.justification == "One rename everywhere."
    assert assessment.rejected_because


def test_override_of_nothing_overrides_nothing() -> None:
    """A justification on a task that passes anyhow is no override."""
    assert not judged(1, override="Just in case.").overridden


@pytest.mark.parametrize(
    ("kind", "band", "effective"),
    [
        (None, "simple", "simple"),
        (None, "moderate", "moderate"),
        (None, "too_complex", "complex"),
        ("simple", "moderate", "moderate"),
        ("moderate", "simple", "moderate"),
        ("moderate", "too_complex", "complex"),
        ("research", "simple", "research"),
    ],
)
def test_kind_is_the_greater_of_declared_and_band(kind: Any, band: Any, effective: str) -> None:
    """The band rules over a smaller kind; a greater one is the author's word."""
    assert effective_kind(task(kind=kind), band) == effective


def test_budgets_by_kind() -> None:
    """Simple 20, moderate 50, complex 100, research 150."""
    budgets = BudgetsSettings()
    kinds: tuple[TaskKind, ...] = ("simple", "moderate", "complex", "research")
    assert [budget_of(kind, budgets) for kind in kinds] == [20, 50, 100, 150]


counts = st.integers(min_value=0, max_value=30)


@given(counts, counts, counts, counts)
def test_more_of_anything_never_scores_less(written: int, read: int, criteria: int, edges: int) -> None:
    """The score grows with every factor, and a refusal by score says so."""
    base = judged(written, read, criteria, edges)
    assert judged(written + 1, read, criteria, edges).score == base.score + 10
    assert judged(written, read + 1, criteria, edges).score == base.score + 2
    assert (base.band == "too_complex") == any("score" in reason for reason in base.rejected_because)
    assert bool(base.recommendation) == bool(base.rejected_because)
