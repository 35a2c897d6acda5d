"""What turns have used: tokens, US dollars (None: a price is unknown), and what of it the graph holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """What turns have cost so far; an unsettled turn counts with what it reserved. `usd` is None as soon as one
    turn's price is unknown."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class AttemptUsage:
    """What one attempt has used so far, with its reviews and the PM's decisions; `worked_s` is its time without what it
    waited for rate limits. One that is `closed` uses nothing more."""

    attempt_id: str
    task_id: str
    closed: bool
    spend: Usage
    worked_s: float
