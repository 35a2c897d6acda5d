"""Events: the recorded facts of an Attempt (and of a Review or PlanningRound), in order.

One event is at once what the store writes, what the guards fold, what the screen shows and what a replay reads back, so
that guards rebuilt from the graph see exactly what the live ones saw. `seq` orders an owner's facts and is unique
across Turn, ToolCall, Checkpoint, GuardEvent and BudgetRequest. Instants are aware and UTC.

Order within one turn: [Compacted] TurnRequested, ReplyReceived (whose calls are numbered), then per call in the order
asked ToolRequested, [ProgressReported | BudgetDecided | ScopeDecided], ToolFinished.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from orchestrator.domain.model_io import FinishReason, ModelReply, ModelRequest, ToolCall, ToolResult
from orchestrator.domain.verdict import Refuse, Stop, Warn

CallStatus = Literal["requested", "running", "ok", "error", "refused", "duplicate", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWrite:
    """One file that a call changed: lines added and removed, the new blob id ("" when deleted) and the one `before` it
    ("" when there was none). A write is substantive unless nothing but white space changed. `rewritten` are the removed
    lines that the file did not have when the attempt began: those that the attempt itself had put there."""

    path: str
    added: int
    removed: int
    blob: str
    substantive: bool = True
    before: str = ""
    rewritten: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardCounters:
    """How things stand with the guards: calls executed and asked for, and turns that had a reply, against their limits;
    and identical batches in a row without a new result. An older graph has no turns: they are 0."""

    calls_used: int = 0
    calls_limit: int = 0
    requests_used: int = 0
    requests_limit: int = 0
    stall_count: int = 0
    turns_used: int = 0
    turns_limit: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequested:
    """A model call is about to be made; `counters` are how things stand before it."""

    seq: int
    at: datetime
    request: ModelRequest
    counters: GuardCounters = GuardCounters()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyReceived:
    """The model answered the turn `seq`, or failed to (`failed`, with the error as the reply's text)."""

    seq: int
    at: datetime
    reply: ModelReply
    failed: bool = False

    @classmethod
    def without_reply(
        cls, turn: TurnRequested, why: str, at: datetime, finish_reason: FinishReason = "error"
    ) -> ReplyReceived:
        """A turn that got none: settled with no tokens, so that what it reserved counts nowhere."""
        latency_ms = (at - turn.at).total_seconds() * 1000
        reply = ModelReply(text=why, latency_ms=latency_ms, finish_reason=finish_reason, model=turn.request.model)
        return cls(seq=turn.seq, at=at, reply=reply, failed=True)

    @classmethod
    def lost(cls, turn: TurnRequested, why: str, at: datetime) -> ReplyReceived:
        """A turn that was worked at when its reply was given up or broke off: settled at what it reserved, since it may
        have cost that much."""
        unsettled, request = cls.without_reply(turn, why, at, finish_reason="lost"), turn.request
        reserved = replace(
            unsettled.reply,
            prompt_tokens=request.window_tokens,
            completion_tokens=request.reserved_tokens - request.window_tokens,
            estimated=True,
            cost_usd=request.reserved_usd,
        )
        return replace(unsettled, reply=reserved)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequested:
    """A call is about to be executed, refused or served; `duplicate_of` is the seq of the call that answers it."""

    at: datetime
    turn_seq: int
    call: ToolCall
    duplicate_of: int | None = None

    @property
    def seq(self) -> int:
        """The call's."""
        return self.call.seq


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A call has its result. `tree_after` is set after every mutating call of which a snapshot could be taken;
    `files_changed` are all that differ from the one before, `writes` tell of the first of them."""

    at: datetime
    call: ToolCall
    status: CallStatus
    result: ToolResult
    tree_after: str | None = None
    writes: tuple[FileWrite, ...] = ()
    files_changed: int = 0

    @property
    def seq(self) -> int:
        """The call's."""
        return self.call.seq


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """The window was compacted for the turn that follows with this request."""

    at: datetime
    request: ModelRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressReported:
    """report_progress was called by the call `call_seq`. `findings_hash` is the open findings' at that time."""

    seq: int
    at: datetime
    call_seq: int
    at_tool_call: int
    description: str
    tree_after: str
    findings_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """An interrupted attempt's work goes on in its successor. What was used stays used; what was repeated begins anew,
    because the successor is another conversation; the time since `last_event_at` counts for no deadline."""

    at: datetime
    last_event_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The attempt's conversation is over, with its stop reason."""

    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardFired:
    """A guard's verdict other than Allow, recorded before it takes effect. Guards do not read it."""

    seq: int
    at: datetime
    at_tool_call: int
    verdict: Warn | Refuse | Stop
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
