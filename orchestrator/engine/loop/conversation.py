"""The choke point: the one loop in which a model is asked and a tool is called, for workers, reviews and planning.

Every event is recorded, then judged by the guards, then acted upon: what is asked for is done only if none says Stop,
and here alone a Stop ends the conversation, so that no role can ignore it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from orchestrator.domain.errors import ContextLengthError, ModelError, ReplyLostError, ToolError
from orchestrator.domain.events import (
    CallStatus,
    Compacted,
    Finished,
    ReplyReceived,
    ToolFinished,
    ToolRequested,
    TurnRequested,
)
from orchestrator.domain.live_text import LiveText, Unwatched
from orchestrator.domain.model_io import ModelReply, ModelRequest, ToolCall, ToolResult, TurnNotice
from orchestrator.domain.ports import Clock, Session, Workspace
from orchestrator.domain.tools import FINISHING_NAMES
from orchestrator.domain.usage_limits import nearest_s
from orchestrator.domain.verdict import Refuse, Stop, Verdict
from orchestrator.domain.workspace import FileChange, writes_of
from orchestrator.engine.cancellation import CancelToken
from orchestrator.engine.loop.journal import Journal
from orchestrator.engine.loop.metering import Meter

_RECENT_CALLS = 10  # told to who decides about a request for more
_MOST_SHRINKS = 4  # 80, 60, 40, 20 % of the original


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationResult:
    """How a conversation ended. `reason` is `submitted` with the control tool that ended it and its arguments,
    `interrupted`, or a stop code; `error` is the model's when that was the cause."""

    reason: str
    detail: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    stop: Stop | None = None
    error: ModelError | None = None


class ConversationEnded(Exception):  # noqa: N818 - no error: the way out of the loop
    """Carries the result from wherever the loop ends to `run`."""

    def __init__(self, result: ConversationResult) -> None:
        super().__init__(result.reason)
        self.result = result


class ControlEffects(Protocol):
    """The effects of the control tools that do not end the conversation."""

    def apply(self, call: ToolCall, journal: Journal, tree: str, recent_calls: tuple[str, ...]) -> ToolResult:
        """Record what the control tool says, and answer it. `recent_calls` are the latest calls in one line each with
        their status, oldest first."""
        ...


class Conversation:
    """One session driven to its end. `base_files` are the paths of the attempt's base commit, `tree` the content that
    it begins with and, behind every call, the content that stands."""

    def __init__(
        self,
        *,
        session: Session,
        journal: Journal,
        workspace: Workspace | None,
        meter: Meter | None,
        controls: ControlEffects | None,
        clock: Clock,
        cancelled: CancelToken,
        live: LiveText | None = None,
        tree: str = "",
        base_files: frozenset[str] = frozenset(),
    ) -> None:
        self.tree = self._began_with = tree
        self._session = session
        self.journal = journal
        self._workspace = workspace
        self._meter = meter.opened() if meter else None
        self._controls = controls
        self._ending_tools = session.control_tools & FINISHING_NAMES
        self._clock = clock
        self._cancelled = cancelled
        self._live = live or Unwatched()
        self._base_files = base_files
        self._last_turn: Stop | None = None
        self._turn: TurnRequested  # the newest
        self._results: dict[int, ToolResult] = {}
        self._recent: deque[str] = deque(maxlen=_RECENT_CALLS)

    def run(self) -> ConversationResult:
        """Turn after turn until something ends it. Raises GraphError, WorkspaceError and UserError kinds; what the
        model or a guard did is a result."""
        try:
            while True:
                for call in self._ask():
                    self._call(call)
        except ConversationEnded as ended:
            self.journal.append(Finished(at=self._clock.now(), reason=ended.result.reason))
            self.journal.flush()
            return ended.result

    def _go_on(self) -> None:
        """Raise ConversationEnded where a guard has said Stop, or everything is cut short."""
        stop = self.journal.stop
        if stop is not None:
            raise ConversationEnded(ConversationResult(reason=stop.code, detail=stop.message, stop=stop))
        if self._cancelled.is_set():
            raise ConversationEnded(ConversationResult(reason="interrupted", detail=self._cancelled.reason))

    # -- one turn -------------------------------------------------------------------------------------------------

    def _ask(self) -> tuple[ToolCall, ...]:
        """One model call; after a context-length error the same again over a smaller window."""
        shrink = 0
        while True:
            self._go_on()
            self._last_turn = self._meter.last_turn(self._clock.now()) if self._meter else None
            request = self._session.compose(self._notice(), shrink=shrink)
            self._request(request)
            try:
                return self._replied(self._send(request))
            except ModelError as error:
                settled = ReplyReceived.lost if isinstance(error, ReplyLostError) else ReplyReceived.without_reply
                self._settle(settled(self._turn, str(error), self._clock.now()))
                self._go_on()
                shrink += 1
                too_long = isinstance(error, ContextLengthError)
                if not too_long or shrink > _MOST_SHRINKS:
                    reason = "context_exhausted" if too_long else "model_error"
                    result = ConversationResult(reason=reason, detail=str(error), error=None if too_long else error)
                    raise ConversationEnded(result) from error

    def _send(self, request: ModelRequest) -> ModelReply:
        """The reply, whose words are shown as they come, until the turn is over."""
        self._live.begin()
        try:
            return self._session.send(request, self._again, self._hear)
        finally:
            self._live.end()

    def _hear(self, piece: str) -> None:
        with suppress(Exception):  # whoever shows it must not break the reading of a reply
            self._live.hear(piece)

    def _again(self, why: str) -> None:
        """A reply was lost and its request is going to be sent again: what was lost counts at what it reserved, and the
        next try is a turn of its own, which must fit every bound as any other."""
        self._live.end()
        self._settle(ReplyReceived.lost(self._turn, why, self._clock.now()))
        self._go_on()
        self._request(replace(self._turn.request, compacted=False))
        self._live.begin()

    def _request(self, request: ModelRequest) -> None:
        """Record and judge the turn, reserve what it may cost, make it durable."""
        at, journal = self._clock.now(), self.journal
        if request.compacted:
            journal.append(Compacted(at=at, request=request))
        turn = TurnRequested(seq=journal.next_seq(), at=at, request=request, counters=journal.guard_set.counters)
        self._turn = turn
        journal.append(turn)
        if self._meter and journal.stop is None:
            journal.append_verdicts(self._meter.reserve(turn, journal), at)
        if journal.stop is not None:  # never sent: it must not count as if it might have been
            why = f"Not sent: {journal.stop.code}."
            journal.append(ReplyReceived.without_reply(turn, why, at, finish_reason="not_sent"))
            self._go_on()
        journal.flush()

    def _replied(self, reply: ModelReply) -> tuple[ToolCall, ...]:
        calls = tuple([call.numbered(self.journal.next_seq(), self._base_files) for call in reply.calls])
        event = ReplyReceived(seq=self._turn.seq, at=self._clock.now(), reply=replace(reply, calls=calls))
        if self._meter:
            self._meter.settle(event)
        self.journal.append(event)
        if self._last_turn is not None and any(call.tool not in self._ending_tools for call in calls):
            # behind the last turn that fits a bound of run or task, nothing but finishing may be asked for
            self.journal.append_verdicts((self._last_turn,), event.at)
        if not calls and reply.finish_reason != "pause":
            self._session.remind(self._with_warnings(""))
        return calls

    def _settle(self, event: ReplyReceived) -> None:
        if self._meter:
            self._meter.settle(event)
        self.journal.append(event)

    def _notice(self) -> TurnNotice:
        guard_set = self.journal.guard_set
        return TurnNotice(
            calls_used=guard_set.calls_executed,
            budget=guard_set.budget,
            tools_withheld=self._last_turn is not None or guard_set.withholds_tools,
            progress_due=guard_set.progress_due,
        )

    # -- one call -------------------------------------------------------------------------------------------------

    def _call(self, call: ToolCall) -> None:
        """Record, judge, act, record. A Stop before the call is its answer; one after it ends what comes next."""
        self._go_on()
        journal, at = self.journal, self._clock.now()
        earlier = journal.guard_set.earlier(call)
        event = ToolRequested(at=at, turn_seq=self._turn.seq, call=call, duplicate_of=earlier)
        verdicts = journal.append(event)
        if self._meter and journal.stop is None and call.tool not in self._ending_tools:
            journal.append_verdicts(self._meter.in_time(at), at)
        if journal.stop is not None:
            self._finish(call, ToolResult.said(journal.stop.message), "refused")
            self._go_on()
        result, status = self._answer(call, earlier, verdicts)
        self._finish(call, result, status)
        if call.tool in self._ending_tools and status == "ok" and self.journal.stop is None:
            raise ConversationEnded(ConversationResult(reason="submitted", tool=call.tool, arguments=call.arguments))

    def _answer(
        self, call: ToolCall, earlier: int | None, verdicts: tuple[Verdict, ...]
    ) -> tuple[ToolResult, CallStatus]:
        """What answers the call: a refusal, an earlier result, its defect, a control tool's effect, or its tool."""
        refusal = next((verdict for verdict in verdicts if isinstance(verdict, Refuse)), None)
        if refusal is not None:
            return ToolResult.said(refusal.message), "refused"
        if earlier is not None:
            return self._results[earlier].served(earlier), "duplicate"
        if call.defect is not None:
            return ToolResult.said(call.defect, "malformed"), "error"
        if call.tool in self._ending_tools:
            return ToolResult.said("Received."), "ok"
        if call.control and self._controls is not None:
            return self._controls.apply(call, self.journal, self.tree, tuple(self._recent)), "ok"
        self.journal.flush()
        at, meter = self._clock.now(), self._meter  # no command outlives a deadline of attempt, task or run
        within_s = nearest_s(self.journal.guard_set.seconds_left(at), meter.seconds_left(at) if meter else None)
        result = self._session.execute(call, within_s=within_s)
        return result, "ok" if result.ok else "error"

    def _finish(self, call: ToolCall, result: ToolResult, status: CallStatus) -> None:
        """Record the call's end and give the model its answer."""
        tree, changes, notice = self._look(call, result, status)
        event = ToolFinished(
            at=self._clock.now(),
            call=call,
            status=status,
            result=result,
            tree_after=tree,
            writes=writes_of(changes),
            files_changed=len(changes),
        )
        self._results[call.seq] = result
        self._recent.append(f"{call.tool} {call.brief} [{status}]")
        self.journal.append(event)
        self._session.answer(call, self._with_warnings(result.text + notice))

    def _look(
        self, call: ToolCall, result: ToolResult, status: CallStatus
    ) -> tuple[str | None, tuple[FileChange, ...], str]:
        """The tree after a mutating call and what it changed; a workspace that cannot be seen is told to the worker."""
        if self._workspace is None or not call.mutating or status not in ("ok", "error"):
            return None, (), ""
        try:
            tree = self._workspace.snapshot(result.touched)
        except ToolError as error:
            return None, (), f"\n[{error}]"
        changes = self._workspace.changes(self.tree, tree, self._began_with) if tree != self.tree else ()
        self.tree = tree
        return tree, changes, ""

    def _with_warnings(self, text: str) -> str:
        """A warning reaches the model once, with the next thing that it is told."""
        told = "".join(f"\n[warning: {message}]" for message in self.journal.warnings)
        self.journal.warnings.clear()
        return text + told
