"""What an endpoint's prompt cache needs, over every wire: between compactions a request begins with the bytes of the
one before, up to the notice that each request has of its own; and a compaction drops nothing that a provider checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from agents.chat.model_chat import ModelChat
from agents.scripted.server import serve
from agents.session import ChatSession, Opening
from agents.tools import catalogue
from orchestrator.config.settings import ModelSettings
from orchestrator.domain.model_io import ModelReply, ModelRequest, TurnNotice
from orchestrator.domain.ports import Workspace
from tests.support.chat_world import KEY, FixedClock

TURNS = 60
NOTICE = b"Tool calls used: "
MARK = b',"cache_control":{"type":"ephemeral"}'

READ = {"tool": "read_file", "arguments": {"path": "README.md"}}
LOST = {"tool": "reed_file", "arguments": "{broken"}
REPLIES = [
    {"reasoning": True, "text": "I read on — ä.", "call": READ},
    {"reasoning": True, "calls": [READ, LOST, READ]},
    {"text": "Without a thought.", "call": READ},
    {"reasoning": True, "text": "Only text."},
]
WIRES: Mapping[str, Mapping[str, Any]] = {
    "chat": {"api": "chat"},
    "responses": {"api": "responses", "effort": "high"},
    "messages": {"api": "messages"},
    "messages with a budget": {"api": "messages", "reasoning_tokens": 2_000},
    "messages with an effort": {"api": "messages", "effort": "high"},
    "chat, tools as JSON": {"api": "chat", "tools": "json"},
    "responses, tools as JSON": {"api": "responses", "tools": "json"},
    "messages, tools as JSON": {"api": "messages", "tools": "json"},
}


class Sent(NamedTuple):
    """One request of a talk: its bytes without marks, whether the window was compacted for it, and its reply."""

    body: bytes
    compacted: bool
    reply: ModelReply

    @property
    def kept(self) -> bytes:
        """All before the notice, whose message is the last."""
        return self.body[: self.body.rindex(b'{"role":"user"', 0, self.body.rindex(NOTICE))]


@pytest.fixture(params=WIRES, scope="function")
def talk(request: pytest.FixtureRequest, workspace: Workspace) -> Iterator[list[Sent]]:
    """A whole talk over the wire, long enough for compactions."""
    with ExitStack() as running:
        model = running.enter_context(serve({"conversations": [{"replies": REPLIES, "then": "cycle 4"}]}))
        settings = ModelSettings(name="scripted", base_url=model.base_url, **WIRES[request.param])
        chat = ModelChat(settings, clock=FixedClock(), env={"OPENAI_API_KEY": KEY})
        running.callback(chat.close)
        session = ChatSession(chat, catalogue.WORKER, Opening("You work.", "Task: t", {}), workspace)
        requests = [_turn(session, used) for used in range(TURNS)]
        assert len(model.bodies) == TURNS  # nothing was refused or asked again
        bodies = (body.replace(MARK, b"") for body in model.bodies)
        yield [Sent(body, asked.compacted, reply) for body, (asked, reply) in zip(bodies, requests, strict=True)]


def _turn(session: ChatSession, used: int) -> tuple[ModelRequest, ModelReply]:
    asked = session.compose(TurnNotice(calls_used=used, budget=TURNS))
    reply = session.send(asked)
    for call in reply.calls:
        session.answer(call, call.defect or session.execute(call).text)
    if not reply.calls:
        session.remind()
    return asked, reply


def test_a_request_begins_with_the_bytes_of_the_one_before_and_is_found_in_the_cache(talk: list[Sent]) -> None:
    """Byte by byte, whatever the replies hold, and a compacted one with those of the opening; every signature that came
    back was checked, over tens of turns with compactions among them."""
    assert sum(sent.compacted for sent in talk) >= 1
    opening = talk[0].kept
    assert all(sent.body.startswith(opening) for sent in talk)
    assert all(sent.compacted or sent.body.startswith(before.kept) for before, sent in pairwise(talk))
    cached = [sent.reply.cached_tokens for sent in talk]
    assert cached[1]
    assert all(
        now >= (cached[1] if sent.compacted else last)
        for sent, (last, now) in zip(talk[1:], pairwise(cached), strict=True)
    )
