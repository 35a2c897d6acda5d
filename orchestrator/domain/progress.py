"""Progress: what the engine tells whoever watches, while it happens.

A listener only shows: nothing depends on it, and what it is told is in the graph already (record, then judge, then
act). Threads of parallel tasks call the same listener at once, so a listener must be safe to call from many threads.
Instants are aware and UTC, durations milliseconds, money US dollars (None: the price is unknown). Texts come cut to
one short line and are still a model's output: a listener must not interpret them as markup.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from orchestrator.domain.verdict import Refuse, Stop, Warn


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """A run begins or is joined. `tasks` are the keys that it may execute, `bounds` its limits in words."""

    at: datetime
    run_id: str
    plan_id: str
    branch: str
    tasks: tuple[str, ...]
    parallelism: int
    sandbox_level: str
    joined: bool = False
    bounds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskClaimed:
    """An attempt of a task begins, with its tool call budget."""

    at: datetime
    task: str
    attempt: int
    attempt_id: str
    title: str
    budget: int
    stage: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """A model call is about to be made. Tokens and dollars are the attempt's so far."""

    at: datetime
    task: str
    attempt: int
    turn: int
    calls_used: int
    budget: int
    tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """A tool call is about to be executed. `summary` is its arguments in one short line."""

    at: datetime
    task: str
    attempt: int
    tool: str
    summary: str
    calls_used: int
    budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished:
    """A tool call has its result. Tokens and dollars are the attempt's so far."""

    at: datetime
    task: str
    attempt: int
    tool: str
    status: str
    duration_ms: float
    calls_used: int
    budget: int
    tokens: int = 0
    cost_usd: float | None = 0.0
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSpoke:
    """A guard warned, refused a call or stopped the attempt."""

    at: datetime
    task: str
    attempt: int
    verdict: Warn | Refuse | Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksStarted:
    """The gates begin: so many verification commands."""

    at: datetime
    task: str
    attempt: int
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinished:
    """One verification command has ended."""

    at: datetime
    task: str
    attempt: int
    command: str
    outcome: Literal["passed", "failed", "infrastructure"]
    exit_code: int | None
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewStarted:
    """QC begins."""

    at: datetime
    task: str
    attempt: int
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFinished:
    """An attempt is over, with its status and stop reason (a code) and what that means in a sentence."""

    at: datetime
    task: str
    attempt: int
    attempt_id: str
    status: str
    stop_reason: str
    detail: str
    calls_used: int
    budget: int
    tokens: int
    cost_usd: float | None
    duration_ms: float
    qc_score: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnded:
    """A task has reached a status that it keeps for this run. `reason` is a code, or why it is blocked."""

    at: datetime
    task: str
    status: str
    reason: str
    attempts: int
    tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """The run is over or interrupted."""

    at: datetime
    run_id: str
    status: str
    branch: str
    tokens: int
    cost_usd: float | None
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    """The PM begins a planning round."""

    at: datetime
    number: int
    purpose: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEnded:
    """A planning round is over, with the tasks it proposed and the defects that pre-flight found in them."""

    at: datetime
    number: int
    purpose: str
    tasks: int
    defects: tuple[str, ...]
    tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Something is waited for: the graph to come back, a rate limit, another process."""

    at: datetime
    message: str


Progress = (
    RunStarted
    | TaskClaimed
    | TurnStarted
    | CallStarted
    | CallFinished
    | GuardSpoke
    | ChecksStarted
    | CheckFinished
    | ReviewStarted
    | AttemptFinished
    | TaskEnded
    | RunEnded
    | RoundStarted
    | RoundEnded
    | Waiting
)

Listener = Callable[[Progress], None]


def silent(_progress: Progress) -> None:
    """A listener that shows nothing."""
