"""Sessions over every wire, with a model that checks with each request that what it said came back unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from agents.chat.wire import WireName
from agents.chat.wires import WIRES
from agents.session import ChatSession, Opening
from agents.tools import catalogue
from orchestrator.domain.model_io import ModelReply, TurnNotice
from orchestrator.domain.ports import Workspace
from tests.support.chat_world import World, world

READ = ["read_file", {"path": "app/main.py"}]
Sit = Callable[..., tuple[ChatSession, World]]


@pytest.fixture(params=WIRES)
def sit(request: pytest.FixtureRequest, workspace: Workspace) -> Iterator[Sit]:
    """Opens a worker's session over one of the wires, with a model that gives these replies."""
    api: WireName = request.param
    with ExitStack() as running:

        def start(*replies: Mapping[str, Any], then: str = "repeat") -> tuple[ChatSession, World]:
            w = running.enter_context(world(*replies, then=then, api=api, max_output_tokens=4_096))
            opening = Opening("You work.", "Task: t\nAttempt: 1", {})
            return ChatSession(w.chat, catalogue.WORKER, opening, workspace, monotonic=w.clock.monotonic), w

        yield start


def turn(session: ChatSession, used: int = 0) -> tuple[ModelReply, bool]:
    """One request with its calls answered; whether its window was compacted."""
    request = session.compose(TurnNotice(calls_used=used, budget=500))
    reply = session.send(request)
    for call in reply.calls:
        session.answer(call, call.defect or session.execute(call).text)
    return reply, request.compacted


def test_a_long_conversation_drops_whole_turns_alone(sit: Sit) -> None:
    """Over compactions too, no reasoning comes back without its calls, no call without its reasoning and its result."""
    replies = [
        {"reasoning": True, "calls": [READ, READ]},
        {"reasoning": True, "text": "I look again.", "call": READ},
        {"call": READ},
        {"reasoning": True, "text": "I think."},
    ]
    session, w = sit(*replies, then="cycle 4")
    compacted = 0
    for step in range(80):
        reply, smaller = turn(session, step)
        compacted += smaller
        if not reply.calls:
            session.remind()
    assert (compacted, len(w.model.requests), w.clock.slept) == (1, 80, [])


def test_what_a_hostile_reply_holds_goes_back_so_that_it_is_taken(sit: Sit) -> None:
    """Unreadable arguments, names that are none and ids that come twice are changed; the rest stays as it came."""
    calls = [
        {"tool": "read_file", "arguments": '{"path": "a"', "id": "same"},
        {"tool": "rm -rf /", "arguments": "[[[", "id": "same"},
        {"tool": "read_file", "arguments": {"path": "README.md"}, "id": "same"},
    ]
    session, _ = sit({"reasoning": True, "text": "Hm.", "calls": calls}, {"calls": calls}, {"text": "ok"})
    first, second = turn(session)[0], turn(session)[0]
    assert len({call.call_id for reply in (first, second) for call in reply.calls}) == 6
    assert turn(session)[0].text == "ok"


@pytest.mark.parametrize("finish", ["length", "refusal", "content_filter"])
def test_a_reply_of_reasoning_alone_does_not_go_back(sit: Sit, finish: str) -> None:
    """Nothing follows it that could be sent: an empty reply stands for it."""
    session, w = sit({"reasoning": True, "finish_reason": finish}, {"text": "ok"})
    turn(session)
    session.remind()
    assert turn(session)[0].text == "ok"
    assert "(empty reply)" in str(w.model.requests[-1])
