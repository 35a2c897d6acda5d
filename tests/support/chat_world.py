"""A clock that stands still but for sleeping, and chats with scripted models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from agents.chat.model_chat import ModelChat
from agents.chat.port import ChatRequest
from agents.scripted.server import ScriptedModel, serve
from orchestrator.config.settings import ModelSettings

KEY = "sk-very-secret-0123456789"
START = datetime(2026, 1, 1, tzinfo=UTC)
HELLO = ChatRequest([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}])


def tool(name: str) -> Mapping[str, Any]:
    """A tool without arguments."""
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}


@dataclass
class FixedClock:
    """Only sleeping moves it."""

    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return START + timedelta(seconds=sum(self.slept))

    def monotonic(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@dataclass
class World:
    """A chat, the scripted model behind it, and what was waited for."""

    chat: ModelChat
    model: ScriptedModel
    clock: FixedClock
    waits: list[str]


@contextmanager
def world(
    *replies: Mapping[str, Any], then: str = "error", script: Mapping[str, Any] | None = None, **settings: Any
) -> Iterator[World]:
    """A chat with a scripted model that gives these replies; `script` is what else stands in its script."""
    with serve({**(script or {}), "conversations": [{"replies": list(replies), "then": then}]}) as model:
        clock, waits = FixedClock(), list[str]()
        chat = ModelChat(
            ModelSettings(name="scripted", base_url=model.base_url, **settings),
            clock=clock,
            env={"OPENAI_API_KEY": KEY},
            on_wait=waits.append,
            jitter=lambda: 0.0,
        )
        try:
            yield World(chat, model, clock, waits)
        finally:
            chat.close()


def api_error(message: str, **fields: Any) -> dict[str, Any]:
    """An error body as OpenAI sends it."""
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None} | fields}


def refusal(message: str, status: int = 400, **fields: Any) -> dict[str, Any]:
    """A scripted reply that refuses the request."""
    return {"fault": {"status": status, "body": api_error(message, **fields)}}
