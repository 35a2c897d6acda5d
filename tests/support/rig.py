"""The real loop over a random model: Conversation, GuardSet, ChatSession, Toolbox and worktree are the real ones.

Only the endpoint is made up (RandomChat, an implementation of the chat port that says what a test drew), and the
recorder keeps events in memory and remembers what was durable when something took effect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agents.chat.estimate import Estimator
from agents.chat.json_tools import asked_call
from agents.chat.port import ChatRequest, Message, ToolSchema, to_nobody
from agents.session import ChatSession, Opening
from agents.tools.catalogue import WORKER
from orchestrator.domain.assignment import GrantRequest
from orchestrator.domain.attempt import Owner
from orchestrator.domain.errors import ModelError
from orchestrator.domain.events import Event
from orchestrator.domain.live_text import LiveText
from orchestrator.domain.model_io import FinishReason, ModelReply, ModelRequest, ToolCall, ToolResult
from orchestrator.domain.ports import Workspace
from orchestrator.domain.task import Task
from orchestrator.engine.cancellation import CancelToken
from orchestrator.engine.loop.control_tools import Grant, WorkerControls
from orchestrator.engine.loop.conversation import Conversation, ConversationResult
from orchestrator.engine.loop.journal import Journal
from orchestrator.guards.guard_set import GuardSet
from orchestrator.guards.limits import GuardLimits
from orchestrator.workspace.workspaces import ShadowWorkspaces

START = datetime(2026, 1, 1, tzinfo=UTC)
ALLOWED = ("a.txt", "b.txt", "new/**")


@dataclass(frozen=True)
class Said:
    """One answer of the random model: text, calls as (tool, arguments as JSON text), how it `ended` where that is not
    the ordinary way, or an error instead; before it so many tries of which the reply is lost."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    error: type[ModelError] | None = None
    lost: int = 0
    ended: FinishReason | None = None


@dataclass
class TickingClock:
    """Every look at it is a millisecond later; sleeping moves it on."""

    at: float = 0.0

    def now(self) -> datetime:
        """The next instant."""
        self.at += 0.001
        return START + timedelta(seconds=round(self.at, 3))

    def monotonic(self) -> float:
        """The same in seconds."""
        self.at += 0.001
        return self.at

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self.at += seconds


@dataclass
class RandomChat:
    """The chat port: what was drawn, again and again from its beginning."""

    says: Sequence[Said]
    ledger: Ledger
    context_window: int = 6_000
    max_output_tokens: int = 500
    model: str = "random"
    requests: list[ChatRequest] = field(default_factory=list)
    estimator: Estimator = field(default_factory=Estimator)

    def estimate(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> int:
        """As the real adapter does."""
        return self.estimator.request(messages, tools)

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """A dollar per million tokens."""
        return (prompt_tokens + completion_tokens) / 1e6

    def said(self, reply: ModelReply) -> Message:
        """No reply here has a message to send back."""
        return reply.message

    def complete(
        self,
        request: ChatRequest,
        on_lost: Callable[[str], None] = to_nobody,
        on_text: Callable[[str], None] = to_nobody,
    ) -> ModelReply:
        """The next thing drawn."""
        said = self.says[len(self.requests) % len(self.says)]
        self._sent(request)
        for _ in range(said.lost):
            on_lost("drawn")
            self._sent(request)
        if said.error is not None:
            raise said.error("drawn")
        on_text(said.text)
        calls = tuple(
            asked_call(f"c{len(self.requests)}.{n}", name, arguments) for n, (name, arguments) in enumerate(said.calls)
        )
        prompt = self.estimate(request.messages, request.tools)
        return ModelReply(
            text=said.text,
            calls=calls,
            prompt_tokens=prompt,
            completion_tokens=20,
            cost_usd=self.price(prompt, 20),
            latency_ms=1.0,
            finish_reason=said.ended or ("tool_calls" if calls else "stop"),
            model=self.model,
        )

    def _sent(self, request: ChatRequest) -> None:
        self.ledger.effects.append(("send", len(self.requests), tuple(self.ledger.events)))
        self.requests.append(request)


@dataclass
class Ledger:
    """Keeps what is recorded, and what was durable at every effect: (`send` or `execute`, which, events so far)."""

    events: list[Event] = field(default_factory=list)
    effects: list[tuple[str, Any, tuple[Event, ...]]] = field(default_factory=list)

    def record(self, _owner: Owner, events: Sequence[Event]) -> None:
        """The port's part that a journal needs."""
        self.events.extend(events)

    def of(self, *kinds: type) -> list[Any]:
        """The recorded events of these kinds, in order."""
        return [event for event in self.events if isinstance(event, kinds)]


class WatchedSession(ChatSession):
    """The real session; it notes what was durable when a tool ran, and every answer."""

    ledger: Ledger
    answered: list[str]
    asked: list[str]
    requests: list[ModelRequest]

    def send(
        self,
        request: ModelRequest,
        on_lost: Callable[[str], None] = to_nobody,
        on_text: Callable[[str], None] = to_nobody,
    ) -> ModelReply:
        """As it is."""
        self.requests.append(request)
        reply = super().send(request, on_lost, on_text)
        self.asked += [call.call_id for call in reply.calls]
        return reply

    def execute(self, call: ToolCall, *, within_s: float | None = None) -> ToolResult:
        """As it is."""
        self.ledger.effects.append(("execute", call.signature, tuple(self.ledger.events)))
        return super().execute(call, within_s=within_s)

    def answer(self, call: ToolCall, text: str) -> None:
        """As it is."""
        self.answered.append(call.call_id)
        super().answer(call, text)


@dataclass(frozen=True)
class Walked:
    """A conversation that has ended."""

    ending: ConversationResult
    ledger: Ledger
    chat: RandomChat
    session: WatchedSession
    guard_set: GuardSet
    begun: GuardSet
    budget: int

    @property
    def executed(self) -> int:
        """Tools that ran."""
        return sum(kind == "execute" for kind, _, _ in self.ledger.effects)


def task(budget: int) -> Task:
    """The task at hand."""
    return Task(
        id="t1",
        plan_id="p1",
        key="random",
        title="Random",
        prompt="Do it.",
        kind="simple",
        role="",
        qc_role="",
        tool_call_budget=budget,
        max_attempts=1,
        allowed_paths=ALLOWED,
    )


def walk(
    workspaces: ShadowWorkspaces,
    says: Sequence[Said],
    *,
    name: str,
    budget: int = 8,
    grant: int = 0,
    limits: GuardLimits | None = None,
    context_window: int = 6_000,
    live: LiveText | None = None,
) -> Walked:
    """Drive a random model to its end in a worktree of its own; `grant` calls are given when it asks for more; `live`
    hears its words."""
    head = workspaces.resolve("HEAD")
    workspace = workspaces.open(name, head, head=head)
    try:
        tree, bounds = workspaces.tree_of(head), limits or GuardLimits()
        return _walk(workspace, tree, says, budget, grant, bounds, context_window, live)
    finally:
        workspace.close()


def _walk(
    workspace: Workspace,
    tree: str,
    says: Sequence[Said],
    budget: int,
    grant: int,
    limits: GuardLimits,
    context_window: int,
    live: LiveText | None,
) -> Walked:
    clock, ledger = TickingClock(), Ledger()
    chat = RandomChat(says, ledger, context_window)
    session = WatchedSession(
        chat, WORKER, Opening("You work.", "Task: random", {}), workspace, monotonic=clock.monotonic
    )
    session.ledger, session.answered, session.asked, session.requests = ledger, [], [], []
    begun = GuardSet.begin(limits, budget, ALLOWED)
    journal = Journal(ledger, Owner("Attempt", "a1", "a1", 1), begun)

    def arbiter(request: GrantRequest) -> Grant:
        return Grant(granted=grant > 0, amount=grant, paths=request.paths, reason="drawn", decided_by="pm")

    conversation = Conversation(
        session=session,
        journal=journal,
        workspace=workspace,
        meter=None,
        controls=WorkerControls(task=task(budget), findings=(), policy=arbiter, clock=clock, changed=lambda _tree: ()),
        clock=clock,
        cancelled=CancelToken(),
        live=live,
        tree=tree,
        base_files=frozenset(workspace.files()),
    )
    ending = conversation.run()
    return Walked(ending, ledger, chat, session, journal.guard_set, begun, budget)


def call(tool: str, **arguments: Any) -> tuple[str, str]:
    """A call as a model sends it."""
    return tool, json.dumps(arguments)


def made_repository(folder: Path) -> Path:
    """A repository with a few files, one of them long."""
    from tests.support.story import make_repository

    return make_repository(folder, {"a.txt": "one\n", "b.txt": "two\n", "long.txt": "all work and no play\n" * 2_000})
