"""A stop in words: the taxonomy's sentence with its figures, what was seen, and what can be done next."""

from __future__ import annotations

from orchestrator.domain.stop_reasons import next_step, sentence
from orchestrator.domain.verdict import Evidence


def explain(code: str, observed: float, limit: float, evidence: Evidence | None = None) -> str:
    """One sentence for a person, what was seen, and what can be done next. Raises KeyError for an unknown code."""
    parts = (sentence(code, observed, limit), _seen(evidence or {}), next_step(code))
    return " ".join(part for part in parts if part)


def _seen(evidence: Evidence) -> str:
    shown = [f"{key} {_value(value)}" for key, value in evidence.items() if value not in (None, "", [])]
    return f"Seen: {'; '.join(shown).removesuffix('.')}." if shown else ""


def _value(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 200 else text[:199] + "…"
