"""What a Guard answers: Allow, Warn, Refuse or Stop, from mildest to strictest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Scalar = str | int | float | bool | None
Evidence = Mapping[str, Scalar | list[Scalar]]


@dataclass(frozen=True, slots=True)
class Allow:
    """Nothing to say."""


@dataclass(frozen=True, slots=True)
class Warn:
    """The worker is told once, with its next tool result; nothing is prevented. A `quiet` warning is only recorded, for
    tuning."""

    guard: str
    code: str
    message: str
    observed: float
    limit: float
    evidence: Evidence = field(default_factory=dict)
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Refuse:
    """The call is not executed; `message` is its result, so that the worker can do something else."""

    guard: str
    code: str
    message: str
    observed: float
    limit: float
    evidence: Evidence = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stop:
    """The attempt ends with `code`, one of the stop codes of domain/stops.py. Absorbing."""

    guard: str
    code: str
    message: str
    observed: float
    limit: float
    evidence: Evidence = field(default_factory=dict)


Verdict = Allow | Warn | Refuse | Stop

ALLOW = Allow()


def strictness(verdict: Verdict) -> int:
    """0 for Allow up to 3 for Stop, so that the strictest of many can be taken with max."""
    return (Allow, Warn, Refuse, Stop).index(type(verdict))
