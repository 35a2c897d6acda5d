"""Small values of the conversation: outcomes that no tool produced, and what a watcher is shown of a call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from orchestrator.domain.errors import ModelError
from orchestrator.domain.events import Compacted, ErrorKind, FileWrite, ReplyReceived, TurnRequested
from orchestrator.domain.model_io import ModelRequest, ToolCall, ToolResult
from orchestrator.domain.normalise import outcome_hash
from orchestrator.domain.workspace import FileChange

_BRIEF_CHARS = 80


def said(text: str, *, ok: bool = True, kind: ErrorKind = "none") -> ToolResult:
    """What the engine itself answers to a call."""
    hashed = outcome_hash(text)
    return ToolResult(
        ok=ok, text=text, outcome_hash=hashed, duration_ms=0.0, error_kind=kind, error_hash="" if ok else hashed
    )


def served(first: ToolResult, earlier: int) -> ToolResult:
    """An earlier result served again, marked as such; its hash is that of the first."""
    notice = f"\n[same call as number {earlier}: it was not executed again, this is that call's result]"
    return replace(first, text=first.text + notice, duration_ms=0.0, touched=())


def compacted(request: ModelRequest, at: datetime) -> Compacted:
    """The fact that the request's window was compacted."""
    return Compacted(at, request.window_tokens, request.uncompacted_tokens, request.token_cap)


def written(changes: Iterable[FileChange]) -> tuple[FileWrite, ...]:
    """What a call changed, as an event tells it."""
    return tuple(FileWrite(c.path, c.added, c.removed, c.blob, c.substantive, c.before) for c in changes)


def failed_reply(turn: TurnRequested, error: ModelError, at: datetime) -> ReplyReceived:
    """A turn that got no reply: settled with no tokens, its error as the text."""
    return _settled(turn, str(error), at)


def _settled(turn: TurnRequested, text: str, at: datetime) -> ReplyReceived:
    return ReplyReceived(
        seq=turn.seq,
        at=at,
        text=text,
        calls=(),
        prompt_tokens=0,
        cached_tokens=0,
        completion_tokens=0,
        cost_usd=0.0,
        latency_ms=(at - turn.at).total_seconds() * 1000,
        wait_ms=0.0,
        retries=0,
        finish_reason="error",
        model=turn.model,
        failed=True,
    )


def unsent(turn: TurnRequested, reason: str) -> ReplyReceived:
    """A turn that a bound kept from being sent: settled at nothing, so that what it reserved counts nowhere."""
    return replace(_settled(turn, f"Not sent: {reason}.", turn.at), finish_reason="not_sent")


def brief(call: ToolCall) -> str:
    """A call's arguments in one short line: the path, the command or the pattern, else the first value."""
    for name in ("command", "pattern", "path", "description", "summary", "reason", "justification"):
        if name in call.arguments:
            return _one_line(call.arguments[name])
    return _one_line(next(iter(call.arguments.values()), ""))


def _one_line(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _BRIEF_CHARS else text[: _BRIEF_CHARS - 1] + "…"
