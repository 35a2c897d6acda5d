"""Events: the recorded facts of an Attempt (and of a Review or PlanningRound), in order.

One event is at once what the store writes, what the guards fold and what a replay reads back, so that a GuardSet
rebuilt from the graph sees exactly what the live one saw. `seq` orders an owner's
facts and is unique across Turn, ToolCall, Checkpoint, GuardEvent and BudgetRequest. Instants are aware and UTC.

Order within one turn: [Compacted] TurnRequested, ReplyReceived (which allots a seq to each of its calls), then per
call in the order asked ToolRequested, [ProgressReported | BudgetDecided | ScopeDecided], ToolFinished.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from orchestrator.domain.verdict import Evidence

CallStatus = Literal["requested", "running", "ok", "error", "refused", "duplicate", "interrupted"]
ErrorKind = Literal["none", "tool", "malformed", "infrastructure"]


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """One tool call that the model asked for. `arguments_json` is what it sent; `signature` hashes tool and canonical
    arguments. `defect` says why the call cannot be executed (unknown tool, arguments that do not parse or validate).
    `overwrites` are those of `writes_to` that stood in the attempt's base commit already."""

    seq: int
    call_id: str
    tool: str
    arguments_json: str
    signature: str
    mutating: bool
    pure: bool
    control: bool
    writes_to: tuple[str, ...] = ()
    defect: str | None = None
    overwrites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileWrite:
    """One file that a call changed: lines added and removed, the new blob id ("" when deleted) and the one `before` it
    ("" when there was none). A write is substantive unless nothing but white space changed."""

    path: str
    added: int
    removed: int
    blob: str
    substantive: bool = True
    before: str = ""


@dataclass(frozen=True, slots=True)
class TurnRequested:
    """A model call is about to be made, with what it may cost at most (`reserved_usd` is None for an unknown price).
    The rest is how things stand before it: messages of the whole conversation beside those of its window, the
    window's tokens, what they would be uncompacted, and their cap; calls executed and asked for against their limits,
    and identical batches in a row without a new result."""

    seq: int
    at: datetime
    model: str
    reserved_tokens: int
    reserved_usd: float | None
    window_messages: int
    window_tokens: int
    compacted: bool = False
    tools_withheld: bool = False
    history_messages: int = 0
    uncompacted_tokens: int = 0
    token_cap: int = 0
    calls_used: int = 0
    calls_limit: int = 0
    requests_used: int = 0
    requests_limit: int = 0
    stall_count: int = 0


@dataclass(frozen=True, slots=True)
class ReplyReceived:
    """The model answered the turn `seq`, or failed to (`failed`, with the error in `text`). `wait_ms` is the part of
    the latency spent waiting for rate limits. `estimated` marks usage that the endpoint did not report."""

    seq: int
    at: datetime
    text: str
    calls: tuple[RequestedCall, ...]
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost_usd: float | None
    latency_ms: float
    wait_ms: float
    retries: int
    finish_reason: str
    model: str
    estimated: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ToolRequested:
    """A call is about to be executed, refused or served; `duplicate_of` is the seq of the call that answers it."""

    seq: int
    at: datetime
    turn_seq: int
    call: RequestedCall
    duplicate_of: int | None = None


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result. `tree_after` is set after every mutating call; `result` is stored head and tail when long.
    `outcome_hash` is the normalised result's, `error_hash` the normalised error's ("" without error)."""

    seq: int
    at: datetime
    call: RequestedCall
    status: CallStatus
    result: str
    outcome_hash: str
    duration_ms: float
    error_kind: ErrorKind = "none"
    error_hash: str = ""
    tree_after: str | None = None
    writes: tuple[FileWrite, ...] = ()


@dataclass(frozen=True, slots=True)
class Compacted:
    """The window was compacted for the turn that follows, from `uncompacted_tokens` to `window_tokens`; `token_cap` is
    what it may be at most (0: not known)."""

    at: datetime
    window_tokens: int
    uncompacted_tokens: int = 0
    token_cap: int = 0


@dataclass(frozen=True, slots=True)
class ProgressReported:
    """report_progress was called by the call `call_seq`. `findings_hash` is the open findings' at that time."""

    seq: int
    at: datetime
    call_seq: int
    at_tool_call: int
    description: str
    tree_after: str
    findings_hash: str


@dataclass(frozen=True, slots=True)
class BudgetDecided:
    """request_budget was decided: `granted_calls` more executed calls (0 when refused)."""

    seq: int
    at: datetime
    call_seq: int
    additional: int
    justification: str
    granted: bool
    granted_calls: int
    decided_by: str
    reason: str


@dataclass(frozen=True, slots=True)
class ScopeDecided:
    """request_scope was decided: when granted, `paths` (globs) join the allowed paths."""

    seq: int
    at: datetime
    call_seq: int
    paths: tuple[str, ...]
    justification: str
    granted: bool
    decided_by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """An interrupted attempt's work goes on in its successor; the time since `last_event_at` counts for no deadline."""

    at: datetime
    last_event_at: datetime


@dataclass(frozen=True, slots=True)
class Finished:
    """The attempt's conversation is over, with its stop reason."""

    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class GuardFired:
    """A guard's verdict other than Allow, recorded before it takes effect. Guards do not read it."""

    seq: int
    at: datetime
    at_tool_call: int
    guard: str
    verdict: Literal["warn", "refuse", "stop"]
    code: str
    reason: str
    observed: float
    limit: float
    evidence: Evidence
    call_seq: int | None = None


Event = (
    TurnRequested
    | ReplyReceived
    | ToolRequested
    | ToolFinished
    | Compacted
    | ProgressReported
    | BudgetDecided
    | ScopeDecided
    | Resumed
    | Finished
    | GuardFired
)
