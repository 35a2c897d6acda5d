"""The tables of domain/stop_reasons.py: every code that an attempt or a task can end with."""

from __future__ import annotations

from orchestrator.domain.stop_reasons import ATTEMPT_STOPS, TASK_STOPS, StopReason, in_words
from tests.support.drawn.markdown import table

_FAULTS = {"work": "the work's", "infrastructure": "infrastructure's", "outage": "an outage's"}


def attempt_stops() -> str:
    """Codes of attempts, with whose fault each is."""
    head = ("code", "in words", "what it says", "what to do next", "whose fault")
    return table(head, ([*_told(reason), _FAULTS[reason.fault]] for reason in ATTEMPT_STOPS.values()))


def task_stops() -> str:
    """Codes of tasks."""
    return table(("code", "in words", "what it says", "what to do next"), map(_told, TASK_STOPS.values()))


def _told(reason: StopReason) -> list[str]:
    sentence = reason.sentence.format(observed="*n*", limit="*limit*")
    return [f"`{reason.code}`", in_words(reason.code), sentence, reason.next_step]
