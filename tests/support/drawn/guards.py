"""Each guard's limits, from the settings' model, with its stop codes and the picture of a firing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from orchestrator.domain import events
from orchestrator.domain.stop_reasons import ATTEMPT_STOPS
from orchestrator.guards.limits import GuardLimits
from tests.support.drawn.firings import timeline
from tests.support.drawn.markdown import fenced, first_sentence, one_line, paragraphs, table


@dataclass(frozen=True)
class Sheet:
    """What a guard reads of `[guards]`, and the codes that it stops with."""

    limits: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


SHEETS: Mapping[str, Sheet] = {
    "budget": Sheet(("budget_warnings", "request_factor"), ("budget_exhausted", "request_limit")),
    "turns": Sheet(("max_turns", "budget_warnings"), ("turn_limit",)),
    "usage": Sheet(("max_tokens", "max_cost_usd"), ("token_limit", "cost_limit")),
    "deadline": Sheet(("deadline_s", "working_time_s"), ("deadline",)),
    "repetition": Sheet(("repetition_warn", "repetition_stop", "cycle_longest", "cycle_rounds"), ("loop_detected",)),
    "stall": Sheet(("stall_batches", "cycle_longest", "cycle_rounds"), ("stalled",)),
    "same_error": Sheet(("same_error_warn", "same_error_stop"), ("same_error",)),
    "duplicates": Sheet(("repeated_failures",)),
    "no_action": Sheet(("no_action_turns",), ("no_action",)),
    "declined": Sheet(codes=("model_declined",)),
    "malformed": Sheet(("malformed_replies",), ("malformed_calls",)),
    "same_failure": Sheet(("same_failure_warn", "same_failure_stop"), ("same_error",)),
    "figures": Sheet(("figures_warn", "figures_stop", "figures_rounds", "cycle_longest"), ("loop_detected",)),
    "no_news": Sheet(
        ("no_news_warn_window", "no_news_warn", "no_news_window", "no_news_stop"),
        ("loop_detected",),
    ),
    "thrash": Sheet(("thrash_warn", "thrash_stop", "writes_stop", "revert_warn", "revert_stop"), ("thrashing",)),
    "checkpoint": Sheet(("progress_every", "progress_warn", "progress_stop"), ("no_progress",)),
    "window": Sheet(("compactions_without_headroom",), ("context_exhausted",)),
    "scope": Sheet(),
}


def sheet(name: str) -> str:
    """A guard's limits, stop codes and firing."""
    of = SHEETS[name]
    return paragraphs(_limits(of), *map(_code, of.codes), fenced("text", timeline(name)))


def _limits(of: Sheet) -> str:
    rows = [(f"`guards.{name}`", _default(name), one_line(_meaning(name))) for name in of.limits]
    return table(("setting", "default", "meaning"), rows) if rows else ""


def _default(name: str) -> str:
    value = GuardLimits.model_fields[name].default
    shown = ", ".join(map(str, value)) if isinstance(value, tuple) else value
    return "none" if value is None else f"`{shown}`"


def _meaning(name: str) -> str:
    return GuardLimits.model_fields[name].description or ""


def _code(code: str) -> str:
    sentence = ATTEMPT_STOPS[code].sentence.format(observed="*n*", limit="*limit*")
    return f"Stop code [`{code}`](stop-reasons.md): {sentence}"


def vocabulary() -> str:
    """Every event, with the first sentence of what it says."""
    rows = [(f"`{kind.__name__}`", first_sentence(kind.__doc__)) for kind in get_args(events.Event)]
    return table(("event", "what it records"), rows)
