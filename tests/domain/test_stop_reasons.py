"""The taxonomy of ends: complete, and every one of them readable."""

from __future__ import annotations

import pytest

from orchestrator.domain.explained import explain
from orchestrator.domain.stop_reasons import ATTEMPT_STOPS, TASK_STOPS, in_words, next_step

# Users and stored graphs rely on these codes: one may be added, none renamed.
BOUNDS = {
    "budget_exhausted", "request_limit", "token_limit", "cost_limit", "deadline", "loop_detected", "same_error",
    "stalled", "no_action", "thrashing", "no_progress", "out_of_scope", "malformed_calls", "context_exhausted",
    "turn_limit",
}  # fmt: skip
OTHERS = {
    "guard_failed", "model_declined", "accepted", "gate_failed", "review_failed", "review_error",
    "check_infrastructure", "baseline_unavailable", "gave_up", "model_error", "workspace_error", "interrupted",
    "cancelled",
}  # fmt: skip
TASK_ENDS = {
    "completed", "attempts_exhausted", "stops_exhausted", "not_converging", "review_not_converging",
    "dependency_failed", "cancelled",
}  # fmt: skip


def test_the_taxonomy_holds_every_code_and_no_other() -> None:
    """One taxonomy in one place."""
    assert set(ATTEMPT_STOPS) == BOUNDS | OTHERS
    assert set(TASK_STOPS) == TASK_ENDS


@pytest.mark.parametrize("code", sorted(BOUNDS | OTHERS | TASK_ENDS))
def test_every_end_renders_as_sentence_evidence_and_next_step(code: str) -> None:
    """One sentence for a person, what was seen, and what can be done next."""
    text = explain(code, 41, 40, {"tool": "read_file", "tools": ["a", "b"], "nothing": ""})
    assert text.endswith(next_step(code))
    assert "Seen: tool read_file; tools a, b." in text
    assert "{" not in text
    assert "nothing" not in text.split("Seen:")[1].split(".")[0]
    assert text[0].isalnum()


@pytest.mark.parametrize("code", sorted(BOUNDS | OTHERS | TASK_ENDS))
def test_every_end_has_words_that_need_no_glossary(code: str) -> None:
    """A few words that fit a column, without a code's underscores and without what is still to be filled in."""
    words = in_words(code)
    assert 0 < len(words) <= 40
    assert not set("_{}") & set(words)


def test_words_count_the_stops_that_a_task_may_have() -> None:
    """How often is too often is the run's setting; where it is not known, or not two, the words are true as well."""
    assert in_words("stops_exhausted", 2) == "stopped twice, no third try"
    assert in_words("stops_exhausted", 1) == "stopped once, no second try"
    assert in_words("stops_exhausted", 5) == "stopped 5 times, no further try"
    assert in_words("stops_exhausted") == "stopped too often, no further try"
    assert in_words("of_another_release") == "of_another_release"


@pytest.mark.parametrize("code", sorted(BOUNDS))
def test_every_bound_names_what_was_seen_and_the_limit(code: str) -> None:
    """The figures in the message are those that were judged by."""
    text = explain(code, 41, 40)
    assert "41" in text
    assert "40" in text


def test_figures_read_as_people_write_them() -> None:
    """Whole numbers without a point, others with four digits, also when there is no limit to speak of."""
    assert "to 0.1235 US dollars; the limit is 2." in explain("cost_limit", 0.123456, 2.0)
    assert "the limit is inf" in explain("deadline", 1, float("inf"))


def test_long_evidence_is_cut() -> None:
    """A model's text in the evidence does not drown the message."""
    assert len(explain("same_error", 4, 4, {"error": "x" * 10_000})) < 700


def test_an_unknown_code_is_a_key_error() -> None:
    """A code outside the taxonomy is a defect of ours, not a message."""
    with pytest.raises(KeyError):
        explain("because", 1, 1)
