"""What goes to a model and what comes back: one shape each, from the wire to the graph.

Fields are the graph's properties in snake case, but for those marked as not stored; these do not count when two values
are compared, so that what is read back from the graph equals what was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from orchestrator.domain.normalise import outcome_hash, shape_hash

ErrorKind = Literal["none", "tool", "malformed", "infrastructure"]
FinishReason = Literal[
    "stop", "tool_calls", "length", "refusal", "content_filter", "pause", "error", "lost", "not_sent"
]
"""Why a reply ended: all was said; calls are asked for; it was cut at its greatest length; the model declined; a filter
of the endpoint's took it; the endpoint wants to be asked to go on. The last three are turns that got no reply: the
request failed, its reply was lost on the way, or a guard kept it from being sent."""
DECLINED: frozenset[FinishReason] = frozenset({"refusal", "content_filter"})
"""A reply that ended so says nothing about the work, whatever its text."""

_BRIEF_CHARS = 80
_TELLING = ("command", "pattern", "path", "description", "summary", "reason", "justification")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNotice:
    """What a model is told with every request of how its work stands; the words are preambles."""

    calls_used: int = 0
    budget: int = 0
    tools_withheld: bool = False
    progress_due: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A composed model request: what it holds, and what it may cost at most."""

    model: str
    window_messages: int
    window_tokens: int
    reserved_tokens: int
    reserved_usd: float | None
    """None: the model's price is unknown."""
    compacted: bool = False
    tools_withheld: bool = False
    history_messages: int = 0
    """Those of the whole conversation, of which the window shows some."""
    uncompacted_tokens: int = 0
    """What the window would take without compaction."""
    token_cap: int = 0
    """What it may take (0: not known)."""
    body: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The adapter's own; not stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool call that the model asked for. A chat gives its id, name and arguments; the rest is the toolbox's, which
    parses and validates it."""

    seq: int = 0
    """Its number among the facts of the conversation, allotted by the engine."""
    call_id: str
    tool: str
    arguments_json: str
    """What the model sent."""
    signature: str = ""
    """Hash over tool and canonical arguments: calls with the same one are the same call."""
    mutating: bool = False
    pure: bool = False
    control: bool = False
    writes_to: tuple[str, ...] = ()
    defect: str | None = None
    """Why it cannot be executed: an unknown tool, or arguments that do not parse or validate."""
    overwrites: tuple[str, ...] = ()
    """Those of `writes_to` that stood in the attempt's base commit already."""
    arguments: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """As validated; empty with a defect. Not stored."""

    def numbered(self, seq: int, base_files: frozenset[str]) -> ToolCall:
        """This call with its number, and with what it overwrites of the files that the attempt began with."""
        return replace(self, seq=seq, overwrites=tuple(path for path in self.writes_to if path in base_files))

    @property
    def brief(self) -> str:
        """The arguments in one short line: the path, the command or the pattern, else the first value."""
        named = (self.arguments[name] for name in _TELLING if name in self.arguments)
        text = " ".join(str(next(named, next(iter(self.arguments.values()), ""))).split())
        return text if len(text) <= _BRIEF_CHARS else text[: _BRIEF_CHARS - 1] + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """The model's answer to one request. `latency_ms` is the whole call with its retries and waits, of which `wait_ms`
    went to rate limits and backoff. `estimated` marks usage that the endpoint did not report; `cost_usd` is None where
    the price is unknown."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    prompt_tokens: int = 0
    """With those that the endpoint's cache served or took in."""
    cached_tokens: int = 0
    """Of the prompt's, served from the endpoint's cache."""
    cache_write_tokens: int = 0
    """Of the prompt's, written to it, which some endpoints price apart."""
    completion_tokens: int = 0
    """With those of the reasoning."""
    reasoning_tokens: int = 0
    """Of the completion's."""
    estimated: bool = False
    cost_usd: float | None = 0.0
    latency_ms: float = 0.0
    wait_ms: float = 0.0
    retries: int = 0
    finish_reason: FinishReason
    model: str
    message: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The assistant's message as it came, in the form of its wire, to be sent back so; empty where there is none. Not
    stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool did. `text` is the whole result; the transcript cuts it for the model and says how to read on, the
    graph stores head and tail of a long one. `outcome_hash` is the normalised result's, `error_hash` the normalised
    error's ("" without one), `shape_hash` that of what is left of the result without figures ("" where nobody looked).
    `says`: whether it holds any text."""

    text: str
    outcome_hash: str
    duration_ms: float = 0.0
    error_kind: ErrorKind = "none"
    error_hash: str = ""
    shape_hash: str = ""
    says: bool = True
    touched: tuple[str, ...] | None = field(default=(), compare=False)
    """The paths that it may have changed (None: anything, look everywhere). Not stored."""

    @property
    def ok(self) -> bool:
        """Whether it is no error."""
        return self.error_kind == "none"

    @classmethod
    def said(cls, text: str, kind: ErrorKind = "none") -> ToolResult:
        """What the engine itself answers to a call."""
        hashed, error = outcome_hash(text), "" if kind == "none" else outcome_hash(text)
        return cls(text=text, outcome_hash=hashed, error_kind=kind, error_hash=error, shape_hash=shape_hash(text))

    def served(self, earlier: int) -> ToolResult:
        """This result served again, marked as that of the call `earlier`; its hash stays."""
        notice = f"\n[same call as number {earlier}: it was not executed again, this is that call's result]"
        return replace(self, text=self.text + notice, duration_ms=0.0, touched=())
