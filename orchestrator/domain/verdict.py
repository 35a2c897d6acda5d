"""What a Guard answers: Allow, Warn, Refuse or Stop, ranked from mildest to strictest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

Scalar = str | int | float | bool | None
Evidence = Mapping[str, Scalar | list[Scalar]]


@dataclass(frozen=True, slots=True)
class Allow:
    """Nothing to say."""

    rank: ClassVar[int] = 0


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
    rank: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class Refuse(_Spoken):
    """The call is not executed; `message` is its result, so that the worker can do something else."""

    kind: ClassVar[Literal["refuse"]] = "refuse"
    rank: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class Stop(_Spoken):
    """The attempt ends with `code`, one of the stop codes of domain/stop_reasons.py. Absorbing."""

    kind: ClassVar[Literal["stop"]] = "stop"
    rank: ClassVar[int] = 3


Verdict = Allow | Warn | Refuse | Stop

ALLOW = Allow()
