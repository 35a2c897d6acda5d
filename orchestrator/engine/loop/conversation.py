"""The choke point: the one loop in which a model is asked and a tool is called, for workers, reviews and planning.

Before every model call and every tool call the guards are asked, and here alone a Stop ends the conversation, so that
no role can ignore it. Everything is recorded, then judged, then acted upon.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from orchestrator.domain.errors import ContextLengthError, ModelError, ToolError
from orchestrator.domain.events import (
    CallStatus,
    FileWrite,
    Finished,
    ReplyReceived,
    RequestedCall,
    ToolFinished,
    ToolRequested,
    TurnRequested,
)
from orchestrator.domain.model_io import ModelReply, ModelRequest, ToolCall, ToolResult
from orchestrator.domain.ports import Clock, Session, Workspace
from orchestrator.domain.progress import CallFinished, CallStarted, GuardSpoke, Listener, TurnStarted
from orchestrator.domain.verdict import Refuse, Stop, Verdict, Warn
from orchestrator.engine.cancellation import CancelToken
from orchestrator.engine.loop.journal import KINDS, Journal, strictest_stop
from orchestrator.engine.loop.metering import Meter
from orchestrator.engine.loop.standing import Standing
from orchestrator.engine.loop.steps import brief, compacted, failed_reply, said, served, unsent, written
from orchestrator.engine.loop.totals import Totals
from orchestrator.engine.loop.turn_log import TurnLog, standing

_RECENT_CALLS = 10  # told to who decides about a request for more
_MOST_SHRINKS = 4  # 80, 60, 40, 20 % of the original
_NO_ACTION = "You replied without a tool call. Text alone changes nothing: call a tool; only {finish} ends the work."


@dataclass(frozen=True, slots=True)
class ConversationResult:
    """How a conversation ended. `reason` is `submitted` with the control tool that ended it and its arguments, or a
    stop code; `error` is the model's when that was the cause."""

    reason: str
    detail: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    stop: Stop | None = None
    error: ModelError | None = None


class Controls(Protocol):
    """The effects of control tools that do not end the conversation."""

    def apply(
        self, call: ToolCall, seq: int, journal: Journal, standing: Standing
    ) -> tuple[ToolResult, tuple[Verdict, ...]]:
        """Record what the control tool says, and answer it with what the GuardSet says to that record."""
        ...


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose conversation it is, for those who watch."""

    task: str
    attempt: int


class Conversation:
    """One session driven to its end. `ending_tools` are the control tools that end it."""

    def __init__(
        self,
        *,
        session: Session,
        journal: Journal,
        workspace: Workspace,
        meter: Meter,
        controls: Controls | None,
        ending_tools: frozenset[str],
        subject: Subject,
        clock: Clock,
        listener: Listener,
        cancelled: CancelToken,
        tree: str = "",
        base_files: frozenset[str] = frozenset(),
    ) -> None:
        self._session = session
        self._journal = journal
        self._workspace = workspace
        self._meter = meter.opened()
        self._last_turn: Stop | None = None
        self._controls = controls
        self._ending_tools = ending_tools
        self._subject = subject
        self._clock = clock
        self._listener = listener
        self._cancelled = cancelled
        self._results: dict[int, ToolResult] = {}
        self._warnings: list[str] = []
        self._recent: deque[str] = deque(maxlen=_RECENT_CALLS)
        self._ending: ConversationResult | None = None
        self._turn_seq = 0
        self._turns = 0
        self._base_files = base_files
        self._diagnosis: TurnLog | None = None
        self.totals = Totals()
        self.tree = tree

    def run(self) -> ConversationResult:
        """Turn after turn until something ends it. Raises GraphError kinds; everything else is an Ending."""
        while self._ending is None:
            self._turn()
            self._diagnose()
        self._journal.judge(Finished(at=self._clock.now(), reason=self._ending.reason))
        self._journal.flush()
        return self._ending

    # -- one turn -------------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        if self._cancelled.is_set():
            self._ending = ConversationResult("interrupted", self._cancelled.reason)
            return
        asked = self._ask()
        if asked is None:
            return
        reply, calls = asked
        self._refuse_further(calls)
        if not calls:
            self._session.remind(self._with_warnings(_NO_ACTION.format(finish=" or ".join(sorted(self._ending_tools)))))
        for call, requested in zip(reply.calls, calls, strict=True):
            if self._ending is not None or self._cancelled.is_set():
                return
            self._call(call, requested)

    def _ask(self) -> tuple[ModelReply, tuple[RequestedCall, ...]] | None:
        """One model call; after a context-length error the same again over a smaller window."""
        for shrink in range(_MOST_SHRINKS + 1):
            self._last_turn = self._meter.last_turn(self._clock.now())
            request = self._session.compose(self._notices(), withhold_tools=self._withholds_tools, shrink=shrink)
            turn = self._requested(request)
            if turn is None:
                return None
            try:
                reply = self._session.send(request)
            except ContextLengthError as error:
                self._settle_failed(turn, error)
                if self._ending is not None or shrink == _MOST_SHRINKS:
                    self._ending = self._ending or ConversationResult("context_exhausted", str(error))
                    return None
            except ModelError as error:
                self._settle_failed(turn, error)
                self._ending = self._ending or ConversationResult("model_error", str(error), error=error)
                return None
            else:
                return self._replied(turn, reply)
        return None

    def _requested(self, request: ModelRequest) -> TurnRequested | None:
        """Record and judge the turn, reserve what it may cost; None when that ended the conversation."""
        at = self._clock.now()
        if request.compacted:
            self._heed(self._journal.judge(compacted(request, at)))
        turn = TurnRequested(
            seq=self._journal.next_seq(),
            at=at,
            model=request.model,
            reserved_tokens=request.reserved_tokens,
            reserved_usd=request.reserved_usd,
            window_messages=request.window_messages,
            window_tokens=request.window_tokens,
            compacted=request.compacted,
            tools_withheld=request.tools_withheld,
            history_messages=request.history_messages,
            uncompacted_tokens=request.uncompacted_tokens,
            token_cap=request.token_cap,
            **standing(self._journal.guard_set),
        )
        self._turn_seq = turn.seq
        self._turns += 1
        self._diagnosis = TurnLog(self._turns, turn)
        self._heed(self._journal.judge(turn))
        if self._ending is None:
            self._heed(self._journal.rule(self._meter.reserve(turn, self._journal), at))
        if self._ending is not None:  # never sent: it must not count as if it might have been
            self._journal.judge(unsent(turn, self._ending.reason))
        self._journal.flush()
        if self._ending is not None:
            return None
        guard_set = self._journal.guard_set
        self._listener(
            TurnStarted(
                at, self._subject.task, self._subject.attempt, turn.seq, guard_set.calls_executed, guard_set.budget,
                self.totals.tokens, self.totals.cost_usd,
            )
        )  # fmt: skip
        return turn

    def _replied(self, turn: TurnRequested, reply: ModelReply) -> tuple[ModelReply, tuple[RequestedCall, ...]]:
        calls = tuple(call.requested(self._journal.next_seq(), self._base_files) for call in reply.calls)
        event = ReplyReceived(
            seq=turn.seq,
            at=self._clock.now(),
            text=reply.text,
            calls=calls,
            prompt_tokens=reply.prompt_tokens,
            cached_tokens=reply.cached_tokens,
            completion_tokens=reply.completion_tokens,
            cost_usd=reply.cost_usd,
            latency_ms=reply.latency_ms,
            wait_ms=reply.wait_ms,
            retries=reply.retries,
            finish_reason=reply.finish_reason,
            model=reply.model,
            estimated=reply.estimated,
        )
        self._settle(event)
        return reply, calls

    @property
    def _withholds_tools(self) -> bool:
        return self._last_turn is not None or self._journal.guard_set.withholds_tools

    def _refuse_further(self, calls: tuple[RequestedCall, ...]) -> None:
        """Behind the last turn that fits a bound of run or task, nothing but finishing may be asked for."""
        if self._last_turn is not None and any(call.tool not in self._ending_tools for call in calls):
            self._heed(self._journal.rule((self._last_turn,), self._clock.now()))

    def _diagnose(self) -> None:
        """One structured log line a turn."""
        if self._diagnosis is not None:
            self._diagnosis.log(self._subject.task, self._journal.owner, self._journal.guard_set)
            self._diagnosis = None

    def _settle(self, event: ReplyReceived) -> None:
        self._meter.settle(event)
        if self._diagnosis is not None:
            self._diagnosis.reply = event
        self.totals = self.totals.add_reply(event)
        self._heed(self._journal.judge(event))

    def _settle_failed(self, turn: TurnRequested, error: ModelError) -> None:
        self._settle(failed_reply(turn, error, self._clock.now()))
        self._journal.flush()
        self._diagnose()

    # -- one call -------------------------------------------------------------------------------------------------

    def _call(self, call: ToolCall, requested: RequestedCall) -> None:
        earlier = self._journal.guard_set.earlier(requested)
        event = ToolRequested(
            seq=requested.seq,
            at=self._clock.now(),
            turn_seq=self._turn_seq,
            call=requested,
            duplicate_of=earlier,
        )
        if self._diagnosis is not None and earlier is not None:
            self._diagnosis.duplicates[requested.seq] = earlier
        verdicts = self._journal.judge(event)
        self._heed(verdicts)
        if call.tool not in self._ending_tools and self._ending is None:
            self._heed(self._journal.rule(self._meter.in_time(event.at), event.at))
        refusal = next((v for v in verdicts if isinstance(v, Refuse)), None)
        if self._ending is not None:
            self._finish(call, requested, said(self._ending.detail), "refused")
            return
        outcome, status = self._outcome(call, requested, earlier, refusal)
        self._finish(call, requested, outcome, status)

    def _outcome(
        self, call: ToolCall, requested: RequestedCall, earlier: int | None, refusal: Refuse | None
    ) -> tuple[ToolResult, CallStatus]:
        """What answers the call: a refusal, an earlier result, its defect, a control tool's effect, or its tool."""
        if refusal is not None:
            return said(refusal.message), "refused"
        if earlier is not None:
            return served(self._results[earlier], earlier), "duplicate"
        if call.defect is not None:
            return said(call.defect, ok=False, kind="malformed"), "error"
        if call.tool in self._ending_tools:
            self._ending = ConversationResult("submitted", "", tool=call.tool, arguments=call.arguments)
            return said("Received."), "ok"
        if call.control and self._controls is not None:
            outcome, verdicts = self._controls.apply(call, requested.seq, self._journal, self._standing())
            self._heed(verdicts)
            return outcome, "ok" if outcome.ok else "error"
        return self._execute(call)

    def _execute(self, call: ToolCall) -> tuple[ToolResult, CallStatus]:
        self._journal.flush()
        guard_set = self._journal.guard_set
        self._listener(
            CallStarted(
                self._clock.now(), self._subject.task, self._subject.attempt, call.tool, brief(call),
                guard_set.calls_executed, guard_set.budget,
            )
        )  # fmt: skip
        outcome = self._session.execute(call, within_s=self._seconds_left())
        return outcome, "ok" if outcome.ok else "error"

    def _seconds_left(self) -> float | None:
        """Until the nearest deadline of attempt, task and run: no command outlives it."""
        at = self._clock.now()
        left = (self._journal.guard_set.seconds_left(at), self._meter.seconds_left(at))
        return min((seconds for seconds in left if seconds is not None), default=None)

    def _finish(self, call: ToolCall, requested: RequestedCall, outcome: ToolResult, status: CallStatus) -> None:
        tree, writes, notice = self._look(call, outcome, status)
        event = ToolFinished(
            seq=requested.seq,
            at=self._clock.now(),
            call=requested,
            status=status,
            result=outcome.text,
            outcome_hash=outcome.outcome_hash,
            duration_ms=outcome.duration_ms,
            error_kind=outcome.error_kind,
            error_hash=outcome.error_hash,
            tree_after=tree,
            writes=writes,
        )
        self._results[requested.seq] = outcome
        self._recent.append(f"{call.tool} {brief(call)} [{status}]")
        if self._diagnosis is not None:
            self._diagnosis.finished[requested.seq] = event
        self.totals = self.totals.add_call(event)
        self._heed(self._journal.judge(event))
        self._session.answer(call, self._with_warnings(outcome.text + notice))
        guard_set = self._journal.guard_set
        self._listener(
            CallFinished(
                event.at, self._subject.task, self._subject.attempt, call.tool, status, outcome.duration_ms,
                guard_set.calls_executed, guard_set.budget, self.totals.tokens, self.totals.cost_usd, brief(call),
            )
        )  # fmt: skip

    def _look(
        self, call: ToolCall, outcome: ToolResult, status: CallStatus
    ) -> tuple[str | None, tuple[FileWrite, ...], str]:
        """The tree after a mutating call and what it wrote; a workspace that cannot be seen is told to the worker."""
        if not call.mutating or status not in ("ok", "error"):
            return None, (), ""
        try:
            tree = self._workspace.snapshot(outcome.touched)
        except ToolError as error:
            return None, (), f"\n[{error}]"
        changes = self._workspace.changes(self.tree, tree) if tree != self.tree else ()
        self.tree = tree
        return tree, written(changes), ""

    # -- verdicts -------------------------------------------------------------------------------------------------

    def _heed(self, verdicts: tuple[Verdict, ...]) -> None:
        self._warnings.extend(v.message for v in verdicts if isinstance(v, Warn) and not v.quiet)
        self._end_by(strictest_stop(verdicts))
        for verdict in verdicts:
            if isinstance(verdict, Refuse | Stop) or (isinstance(verdict, Warn) and not verdict.quiet):
                self._speak(verdict)

    def _speak(self, verdict: Warn | Refuse | Stop) -> None:
        self._listener(
            GuardSpoke(
                self._clock.now(), self._subject.task, self._subject.attempt, verdict.guard, KINDS[type(verdict)],
                verdict.code, verdict.message, verdict.observed, verdict.limit,
            )
        )  # fmt: skip

    def _end_by(self, stop: Stop | None) -> None:
        if stop is not None and self._ending is None:
            self._ending = ConversationResult(stop.code, stop.message, stop=stop)

    def _with_warnings(self, text: str) -> str:
        """A warning reaches the model once, with the next thing that it is told."""
        told = "".join(f"\n[warning: {message}]" for message in self._warnings)
        self._warnings.clear()
        return text + told

    def _standing(self) -> Standing:
        return Standing(self.tree, tuple(self._recent))

    def _notices(self) -> list[str]:
        guard_set = self._journal.guard_set
        left = max(guard_set.budget - guard_set.calls_executed, 0)
        notices = [f"Tool calls used: {guard_set.calls_executed} of {guard_set.budget}; {left} left."]
        if self._withholds_tools:
            finish = " or ".join(sorted(self._ending_tools))
            notices.append(f"Tools are withheld now: end with {finish}.")
        elif guard_set.progress_due:
            notices.append("A progress report is due: call report_progress.")
        return notices
