"""Traces of coding agents as events: JSON lines of
`{"source", "id", "calls": [{"name", "arguments", "ok", "result_sha", "result_chars"}]}`, and what else TraceCall has.

A trace has no trees, reports, tokens or times. A write tool that succeeded gives its file the content "what this call
with this result leaves", and the tree is the sum of these; run_command is taken to leave the tree as it is. What a
trace does not tell is guessed, and `unjudged` says of which rules that holds.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, field_validator

from orchestrator.domain.errors import UserError
from orchestrator.domain.events import Event, FileWrite, ReplyReceived, ToolFinished, ToolRequested, TurnRequested
from orchestrator.domain.model_io import ModelReply, ModelRequest, ToolCall, ToolResult
from orchestrator.domain.tools import CONTROL_NAMES

MOST_CALLS = 500
"""Calls after which a trace that is repeated for ever is given up."""

_SILENT_CHARS = 300
"""Up to so many characters a command's result may be no more than what an agent's scaffold says around no output: exit
code, directory, interpreter."""

_AT = datetime(2000, 1, 1, tzinfo=UTC)
_WRITES = frozenset({"write_file", "edit_file", "delete_file"})
_TEXTS = frozenset({"old_str", "new_str", "file_text"})
_PURE = frozenset({"read_file", "list_files", "search", "read_output"})


class TraceCall(BaseModel):
    """One call: the tool's name, its arguments, whether it succeeded, its result's hash and length in characters."""

    model_config = ConfigDict(frozen=True, validate_by_name=True, validate_by_alias=True)

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    ok: bool = True
    result_sha: str = ""
    result_chars: int = Field(default=0, ge=0)
    shape_sha: str = ""
    """The hash of the result without its figures."""
    says: bool | None = None
    """Whether the result holds anything but what a scaffold says around no output."""
    added: int | None = Field(default=None, ge=0)
    removed: int | None = Field(default=None, ge=0)
    rewritten: int | None = Field(default=None, ge=0)
    """Lines that a write added and took away, and how many of these the run itself had put there."""
    error_sha: str | None = None
    """The error's hash, "" for what is no error of the work (a program that is missing); else the result's stands."""
    refused: bool = False
    """Whether it was not executed: refused, or asked for when the run was stopped."""
    turn: int | str | None = Field(default=None, validation_alias=AliasChoices("turn", "batch"))
    """The reply that asked for it, also read as `batch`: calls with one `turn`, one after the other, were asked for at
    once. Without it each call was a reply of its own."""

    @field_validator("arguments", mode="before")
    @classmethod
    def _none_is_empty(cls, value: object) -> object:
        return {} if value is None else value


class Trace(BaseModel):
    """One run of an agent."""

    model_config = ConfigDict(frozen=True)

    id: str
    calls: tuple[TraceCall, ...]
    source: str = ""


def read_traces(text: str) -> list[Trace]:
    """The traces of a file's text, one a line, blank lines left out. Raises UserError naming the line."""
    lines = text.split("\n")  # not splitlines: a JSON string may hold other line breaks as they are
    return [_read(line, number) for number, line in enumerate(lines, start=1) if line.strip()]


def _read(line: str, number: int) -> Trace:
    try:
        return Trace.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the line"
        raise UserError(
            f"Line {number} of the traces is no trace: {where}: {first['msg']}.",
            next_step='Each line is {"id", "calls": [{"name", "arguments", "ok", "result_sha", "result_chars"}]}.',
        ) from None


def events_of_trace(trace: Trace, repeat_last: int = 0) -> Iterator[Event]:
    """The trace as an attempt's events. With `repeat_last` K its last K calls, a closing finish_task left out, go on
    until there are 500 calls in all."""
    tree, seq = _Tree(), 1
    for reply in _replies(trace, repeat_last):
        yield from _turn(reply, seq, tree)
        seq += len(reply) + 1


def unjudged(trace: Trace) -> tuple[str, ...]:
    """The rules that cannot be judged by what the trace tells, or only by a guess, each with why."""
    calls = trace.calls
    writes = [call for call in calls if _wrote(call) and call.rewritten is None]
    blind = [call for call in writes if not call.arguments.keys() & _TEXTS and call.name != "delete_file"]
    wanting = {
        "figures: no shape_sha": sum(not call.shape_sha for call in calls),
        "no_news: says is guessed from the length": sum(
            call.says is None and call.name == "run_command" for call in calls
        ),
        "thrash: rewritten is guessed from the arguments": len(writes) - len(blind),
        "thrash: rewritten is not known": len(blind),
        "stall: no turn, so each call is a reply of its own": sum(call.turn is None for call in calls),
    }
    return tuple(why for why, count in wanting.items() if count)


def _replies(trace: Trace, repeat_last: int) -> Iterator[tuple[TraceCall, ...]]:
    """The calls of each reply; a repeated round begins with a reply of its own."""
    kept = list(trace.calls)
    if repeat_last <= 0:
        yield from _by_turn(kept)
        return
    while kept and kept[-1].name == "finish_task":
        kept.pop()
    done, again = 0, kept[-repeat_last:]
    while kept and done < MOST_CALLS:
        yield from _by_turn(kept[: MOST_CALLS - done])
        done, kept = done + len(kept), again


def _by_turn(calls: Sequence[TraceCall]) -> Iterator[tuple[TraceCall, ...]]:
    numbered = ((call.turn if call.turn is not None else (number,), call) for number, call in enumerate(calls))
    for _, group in groupby(numbered, key=itemgetter(0)):
        yield tuple(call for _, call in group)


class _Lines:
    """What is known of one file's lines: all of them where the run has written it whole, and the run's own."""

    def __init__(self) -> None:
        self.whole: Counter[str] | None = None
        self.own: Counter[str] = Counter()

    def rewritten(self, arguments: Mapping[str, Any]) -> int:
        """How many of the run's own lines a write takes away."""
        text = arguments.get("file_text")
        new = _counted(text if text is not None else arguments.get("new_str"))
        old = _counted(arguments.get("old_str")) if text is None else self.own if self.whole is None else self.whole
        gone, came = old - new, new - old
        rewritten = (gone & self.own).total()
        self.own = self.own - gone + came
        self.whole = new if text is not None else None if self.whole is None else self.whole - gone + came
        return rewritten


def _counted(text: Any) -> Counter[str]:
    return Counter(filter(None, map(str.strip, str(text or "").splitlines())))


class _Tree:
    """The files that write tools left, by path, their lines, and their sum: a tree id of sorts."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.lines: defaultdict[str, _Lines] = defaultdict(_Lines)
        self.id = ""

    def write(self, path: str, content: str) -> str:
        if not content:
            self.lines.pop(path, None)
        self.files[path] = content
        self.id = _hash(json.dumps(sorted(self.files.items())))
        return self.id


def _turn(calls: Sequence[TraceCall], seq: int, tree: _Tree) -> Iterator[Event]:
    requested = tuple(_requested(call, number) for number, call in enumerate(calls, start=seq + 1))
    request = ModelRequest(model="", window_messages=0, window_tokens=0, reserved_tokens=0, reserved_usd=0.0)
    yield TurnRequested(seq=seq, at=_AT, request=request)
    reply = ModelReply(text="", calls=requested, finish_reason="tool_calls", model="")
    yield ReplyReceived(seq=seq, at=_AT, reply=reply)
    for call, asked in zip(calls, requested, strict=True):
        yield ToolRequested(at=_AT, turn_seq=seq, call=asked)
        yield _finished(call, asked, tree)


def _requested(call: TraceCall, seq: int) -> ToolCall:
    return ToolCall(
        seq=seq,
        call_id=str(seq),
        tool=call.name,
        arguments_json=json.dumps(call.arguments, sort_keys=True),
        signature=_signature(call),
        mutating=call.name in _WRITES or call.name == "run_command",
        pure=call.name in _PURE,
        control=call.name in CONTROL_NAMES,
    )


def _finished(call: TraceCall, requested: ToolCall, tree: _Tree) -> ToolFinished:
    writes = _writes(call, requested.signature, tree) if _wrote(call) else ()
    result = ToolResult(
        text="",
        outcome_hash=call.result_sha,
        error_kind="none" if call.ok else "tool",
        error_hash="" if call.ok else _error(call, requested.signature),
        shape_hash=call.shape_sha,
        says=not _silent(call),
    )
    return ToolFinished(
        at=_AT,
        call=requested,
        status="refused" if call.refused else "ok" if call.ok else "error",
        result=result,
        tree_after=tree.write(writes[0].path, writes[0].blob) if writes else None,
        writes=writes,
    )


def _wrote(call: TraceCall) -> bool:
    return call.ok and not call.refused and call.name in _WRITES


def _writes(call: TraceCall, signature: str, tree: _Tree) -> tuple[FileWrite, ...]:
    path = posixpath.normpath(str(call.arguments.get("path", "")))
    deleted = call.name == "delete_file"
    rewritten = 0 if deleted else tree.lines[path].rewritten(call.arguments)
    write = FileWrite(
        path=path,
        added=call.added or 0,
        removed=call.removed or 0,
        blob="" if deleted else _hash(f"{signature} {call.result_sha}"),
        substantive=_substantive(call.arguments),
        rewritten=rewritten if call.rewritten is None else call.rewritten,
    )
    return (write,)


def _error(call: TraceCall, signature: str) -> str:
    """The error's hash. A command's failure whose output says nothing is its own, as run_command has it: two greps
    without a match are no error made twice."""
    if call.error_sha is not None:
        return call.error_sha
    return f"{signature} {call.result_sha}" if call.name == "run_command" and _silent(call) else call.result_sha


def _silent(call: TraceCall) -> bool:
    """Whether the result says nothing; where the trace does not tell, by its length."""
    if call.says is not None:
        return not call.says
    return call.name == "run_command" and call.result_chars <= _SILENT_CHARS


def _substantive(arguments: Mapping[str, Any]) -> bool:
    """Whether the call is known to have changed more than white space; an undo, which names no text, is not."""
    texts = [str(arguments.get(key) or "") for key in ("old_str", "new_str", "file_text")]
    old, new, whole = ("".join(text.split()) for text in texts)
    return old != new or whole != ""


def _signature(call: TraceCall) -> str:
    arguments = {key: _canonical(key, value) for key, value in call.arguments.items()}
    return _hash(json.dumps([call.name, arguments], sort_keys=True))


def _canonical(key: str, value: Any) -> Any:
    if key == "path" and isinstance(value, str):
        return posixpath.normpath(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:16]
