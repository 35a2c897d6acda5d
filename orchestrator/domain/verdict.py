"""What a Guard answers: Allow, Warn, Refuse or Stop, from mildest to strictest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

Scalar = str | int | float | bool | None
Evidence = Mapping[str, Scalar | list[Scalar]]


@dataclass(frozen=True, slots=True)
class Allow:
    """Nothing to say."""


@dataclass(frozen=True, slots=True)
class _Spoken:
    """What a guard says, and the figures that it was judged by."""

    guard: str
    code: str
    message: str
    observed: float
    limit: float
    evidence: Evidence = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Warn(_Spoken):
    """The worker is told once, with its next tool result; nothing is prevented."""

    kind: ClassVar[Literal["warn"]] = "warn"


@dataclass(frozen=True, slots=True)
class Refuse(_Spoken):
    """The call is not executed; `message` is its result, so that the worker can do something else."""

    kind: ClassVar[Literal["refuse"]] = "refuse"


@dataclass(frozen=True, slots=True)
class Stop(_Spoken):
    """The attempt ends with `code`, one of the stop codes of domain/stop_reasons.py. Absorbing."""

    kind: ClassVar[Literal["stop"]] = "stop"


Verdict = Allow | Warn | Refuse | Stop

ALLOW = Allow()


def strictness(verdict: Verdict) -> int:
    """0 for Allow up to 3 for Stop, so that the strictest of many can be taken with max."""
    return (Allow, Warn, Refuse, Stop).index(type(verdict))
