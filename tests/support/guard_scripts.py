"""Events for the guards' tests, and a small choke point that obeys a GuardSet as the engine does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from orchestrator.domain.events import (
    BudgetDecided,
    CallStatus,
    Event,
    FileWrite,
    ReplyReceived,
    ToolFinished,
    ToolRequested,
    TurnRequested,
)
from orchestrator.domain.model_io import ErrorKind, ModelReply, ModelRequest, ToolCall, ToolResult
from orchestrator.domain.tools import CONTROL_NAMES
from orchestrator.domain.verdict import Refuse, Stop, Verdict, Warn
from orchestrator.guards.guard_set import GuardSet
from orchestrator.guards.limits import GuardLimits

START = datetime(2026, 1, 1, tzinfo=UTC)
PURE = frozenset({"read_file", "search", "list_files", "pct"})
LIMITS = GuardLimits()


@dataclass(frozen=True)
class Result:
    """What a scripted tool answers: a text (each call's own where none is given), an error, or a write. `shape` is what
    is left of the text without figures."""

    text: str = ""
    shape: str = ""
    error: str = ""
    tree: str | None = None
    writes: tuple[FileWrite, ...] = ()
    infrastructure: bool = False


def call(tool: str, argument: object = "", *, defect: str | None = None) -> ToolCall:
    """A requested call without its number; `argument` stands for the canonical arguments."""
    writes = (str(argument).split("=")[0],) if tool in ("write_file", "edit_file") else ()
    return ToolCall(
        seq=0,
        call_id="",
        tool=tool,
        arguments_json="{}",
        signature=f"{tool}({argument})",
        mutating=tool not in PURE | CONTROL_NAMES,
        pure=tool in PURE,
        control=tool in CONTROL_NAMES,
        writes_to=writes,
        defect=defect,
    )


Answer = Callable[[ToolCall], Result]


@dataclass
class Choke:
    """Drives a GuardSet with batches of calls: record, judge, act. `statuses` are the calls', in order."""

    guard_set: GuardSet
    answer: Answer = lambda _call: Result()
    events: list[Event] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    statuses: list[CallStatus] = field(default_factory=list)
    seq: int = 0
    at: datetime = START

    def judge(self, event: Event) -> tuple[Verdict, ...]:
        """Feed one event."""
        self.events.append(event)
        self.guard_set, verdicts = self.guard_set.judge(event)
        self.verdicts.extend(verdicts)
        return verdicts

    def run(self, batches: Iterable[Sequence[ToolCall]]) -> Choke:
        """Turn after turn until a Stop or the end."""
        for batch in batches:
            if self.guard_set.stopped is None:
                self.turn(batch)
        return self

    def turn(self, batch: Sequence[ToolCall]) -> None:
        """One turn with its calls."""
        turn, withheld = self._next(), self.guard_set.withholds_tools
        self.judge(
            TurnRequested(
                seq=turn,
                at=self.at,
                request=ModelRequest(
                    model="m",
                    reserved_tokens=10,
                    reserved_usd=0.0,
                    window_messages=1,
                    window_tokens=1,
                    tools_withheld=withheld,
                ),
            )
        )
        calls = tuple(replace(c, seq=self._next()) for c in batch)
        if self.guard_set.stopped is None:
            self.judge(reply(turn, calls, self.at))
        for each in calls:
            if self.guard_set.stopped is None:
                self._call(turn, each)

    def grant(self, calls: int) -> None:
        """request_budget was granted."""
        self.judge(
            BudgetDecided(
                seq=self._next(),
                at=self.at,
                call_seq=0,
                additional=calls,
                justification="",
                granted=True,
                granted_calls=calls,
                decided_by="pm",
                reason="",
            )
        )

    def _next(self) -> int:
        self.seq += 1
        self.at += timedelta(seconds=1)
        return self.seq

    def _call(self, turn: int, each: ToolCall) -> None:
        earlier = self.guard_set.earlier(each)
        verdicts = self.judge(ToolRequested(at=self.at, turn_seq=turn, call=each, duplicate_of=earlier))
        status: CallStatus = "duplicate" if earlier is not None else "ok"
        if any(isinstance(v, Refuse | Stop) for v in verdicts):
            status = "refused"
        elif each.defect and earlier is None:
            status = "error"
        self._finish(each, status, Result() if status == "refused" else self.answer(each))

    def _finish(self, each: ToolCall, status: CallStatus, result: Result) -> None:
        failed = bool(result.error) and status == "ok"
        kind: ErrorKind = "malformed" if each.defect else "infrastructure" if result.infrastructure else "tool"
        self.statuses.append("error" if failed else status)
        text = result.text or f"answer to {each.signature}"
        self.judge(
            ToolFinished(
                at=self.at,
                call=each,
                status=self.statuses[-1],
                tree_after=result.tree if each.mutating else None,
                writes=result.writes,
                result=ToolResult(
                    text=result.error or text,
                    outcome_hash=result.error or text,
                    shape_hash=result.shape,
                    duration_ms=1.0,
                    error_kind=kind if self.statuses[-1] == "error" else "none",
                    error_hash=result.error,
                ),
            )
        )

    @property
    def executed(self) -> int:
        """Calls whose tool ran, as a bystander counts them."""
        finished = [e for e in self.events if isinstance(e, ToolFinished)]
        return sum(
            e.status in ("ok", "error") and not e.call.control and e.result.error_kind != "malformed" for e in finished
        )

    @property
    def warnings(self) -> list[Warn]:
        """The warnings, in order."""
        return [v for v in self.verdicts if isinstance(v, Warn)]

    def warned(self, guard: str) -> list[float]:
        """What one guard had observed at each of its warnings."""
        return [w.observed for w in self.warnings if w.guard == guard]

    @property
    def code(self) -> str | None:
        """The stop's code."""
        return self.guard_set.stopped.code if self.guard_set.stopped else None


def reply(turn: int, calls: tuple[ToolCall, ...], at: datetime = START, *, tokens: int = 0) -> ReplyReceived:
    """A reply that asks for the calls."""
    return ReplyReceived(
        seq=turn,
        at=at,
        reply=ModelReply(
            text="",
            calls=calls,
            prompt_tokens=tokens,
            completion_tokens=0,
            cost_usd=0.0,
            finish_reason="stop",
            model="m",
        ),
    )


def choke(
    budget: int = 1000,
    answer: Answer | None = None,
    *,
    allowed: tuple[str, ...] = ("**",),
    limits: GuardLimits = LIMITS,
) -> Choke:
    """A choke point with a worker's GuardSet."""
    guard_set = GuardSet.begin(limits, budget, allowed)
    return Choke(guard_set, answer) if answer else Choke(guard_set)
