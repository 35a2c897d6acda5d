"""Progress: what the engine tells whoever watches, while it happens.

A listener only shows: nothing depends on it, and what it is told is in the graph already (record, then judge, then
act); the one exception, a reply's words while it comes, is no listener's but live_text.py's. Threads of parallel tasks
call the same listener at once, so a listener must be safe to call from many threads. Instants are aware and UTC,
durations milliseconds, money US dollars (None: the price is unknown). Texts come cut to one short line and are still a
model's output: a listener must not interpret them as markup.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from orchestrator.domain.attempt import CheckPhase
from orchestrator.domain.verdict import Refuse, Stop, Warn


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfAttempt(_Told):
    task: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(_Told):
    """A run begins or is joined. `tasks` are the keys that it may execute, `statuses` how they stand; tokens and
    dollars are the run's so far, `max_…` and `deadline_s` its limits, `bounds` all of them in words."""

    run_id: str
    plan_id: str
    branch: str
    tasks: tuple[str, ...]
    parallelism: int
    sandbox_level: str
    joined: bool = False
    bounds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    tokens: int = 0
    cost_usd: float | None = 0.0
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskClaimed(_OfAttempt):
    """An attempt of a task begins, with its tool call budget."""

    attempt_id: str
    title: str
    budget: int
    stage: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(_OfAttempt):
    """A model call is about to be made, the `turn`-th of at most `turns`: those of the attempts that it continues are
    counted, one tried again has the same number. Tokens and dollars are the attempt's so far."""

    turn: int
    turns: int
    calls_used: int
    budget: int
    tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted(_OfAttempt):
    """A tool call is about to be executed. `summary` is its arguments in one short line."""

    tool: str
    summary: str
    calls_used: int
    budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished(_OfAttempt):
    """A tool call has its result. Tokens and dollars are the attempt's so far."""

    tool: str
    status: str
    duration_ms: float
    calls_used: int
    budget: int
    tokens: int = 0
    cost_usd: float | None = 0.0
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSpoke(_OfAttempt):
    """A guard warned, refused a call or stopped the attempt."""

    verdict: Warn | Refuse | Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckStarted(_OfAttempt):
    """One verification command begins, the `number`-th of `total` in its phase."""

    command: str
    phase: CheckPhase
    number: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinished(_OfAttempt):
    """One verification command has ended; `untested` when it passed and found no test."""

    command: str
    phase: CheckPhase
    outcome: Literal["passed", "failed", "infrastructure"]
    exit_code: int | None
    duration_ms: float
    untested: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewStarted(_OfAttempt):
    """QC begins."""

    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFinished(_OfAttempt):
    """An attempt is over, with its status and stop reason (a code) and what that means in a sentence. Its tokens and
    dollars are those of its reviews and the PM's decisions too; some are only reserved, by turns without a reply."""

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
    reserved_tokens: int = 0
    reserved_usd: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnded(_Told):
    """A task has reached a status that it keeps for this run. `reason` is a code, or why it is blocked; `max_stopped`
    is how many of its attempts a bound may stop. Of its tokens and dollars some are only reserved, by turns without a
    reply."""

    task: str
    status: str
    reason: str
    attempts: int
    max_stopped: int | None = None
    tokens: int = 0
    cost_usd: float | None = 0.0
    reserved_tokens: int = 0
    reserved_usd: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLeftOut(_Told):
    """A task that a bound has ended is not executed again, because nothing about it has changed; `command` has it tried
    all the same."""

    task: str
    reason: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(_Told):
    """The run is over or interrupted. Of its tokens and dollars some are only reserved, by turns without a reply."""

    run_id: str
    status: str
    branch: str
    tokens: int
    cost_usd: float | None
    duration_ms: float
    reserved_tokens: int = 0
    reserved_usd: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted(_Told):
    """The PM begins a planning round."""

    number: int
    purpose: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEnded(_Told):
    """A planning round is over, with the tasks it proposed and the defects that pre-flight found in them."""

    number: int
    purpose: str
    tasks: int
    defects: tuple[str, ...]
    tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(_Told):
    """Something is waited for: the graph to come back, a rate limit, another process."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseStarted(_Told):
    """Something begins that may take long without a further word, such as "opening the graph"."""

    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseEnded(_Told):
    """The phase of these words is over, well or not."""

    words: str


Progress = (
    RunStarted
    | TaskClaimed
    | TurnStarted
    | CallStarted
    | CallFinished
    | GuardSpoke
    | CheckStarted
    | CheckFinished
    | ReviewStarted
    | AttemptFinished
    | TaskEnded
    | TaskLeftOut
    | RunEnded
    | RoundStarted
    | RoundEnded
    | Waiting
    | PhaseStarted
    | PhaseEnded
)

Listener = Callable[[Progress], None]

Phases = Callable[[str], AbstractContextManager[None]]
"""Takes a phase's words, and shows it for as long as the context holds."""


def silent(_progress: Progress) -> None:
    """A listener that shows nothing."""


def unshown(_words: str) -> AbstractContextManager[None]:
    """Phases that nobody watches."""
    return nullcontext()
