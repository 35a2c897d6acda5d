"""What goes to a model and what comes back: one shape each, from the wire to the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.events import ErrorKind, RequestedCall


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A composed model request: what it holds and may cost at most. `body` is the adapter's own; `history_messages` are
    those of the whole conversation, of which the window shows some; `uncompacted_tokens` is what the window would take
    without compaction, `token_cap` what it may take."""

    model: str
    window_messages: int
    window_tokens: int
    reserved_tokens: int
    reserved_usd: float | None
    compacted: bool
    tools_withheld: bool
    body: Mapping[str, Any]
    history_messages: int = 0
    uncompacted_tokens: int = 0
    token_cap: int = 0


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as parsed and validated by the toolbox; `seq` is allotted by the engine. `arguments` is empty when
    there is a defect."""

    call_id: str
    tool: str
    arguments_json: str
    arguments: Mapping[str, Any]
    signature: str
    mutating: bool
    pure: bool
    control: bool
    writes_to: tuple[str, ...] = ()
    defect: str | None = None

    def requested(self, seq: int, base_files: frozenset[str] = frozenset()) -> RequestedCall:
        """The call as a recorded fact; `base_files` are the paths of the attempt's base commit."""
        return RequestedCall(
            seq=seq,
            call_id=self.call_id,
            tool=self.tool,
            arguments_json=self.arguments_json,
            signature=self.signature,
            mutating=self.mutating,
            pure=self.pure,
            control=self.control,
            writes_to=self.writes_to,
            defect=self.defect,
            overwrites=tuple(path for path in self.writes_to if path in base_files),
        )


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The model's answer to one request."""

    text: str
    calls: tuple[ToolCall, ...]
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    estimated: bool
    cost_usd: float | None
    latency_ms: float
    wait_ms: float
    retries: int
    finish_reason: str
    model: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool did. `text` is the whole result; the transcript cuts it for the model and says how to read on.
    `touched` names the paths that it may have changed (None: anything, look everywhere)."""

    ok: bool
    text: str
    outcome_hash: str
    duration_ms: float
    error_kind: ErrorKind = "none"
    error_hash: str = ""
    touched: tuple[str, ...] | None = ()
