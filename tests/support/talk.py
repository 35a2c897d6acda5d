"""A transcript with its window, as a session keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.chat.estimate import Estimator
from agents.chat.json_tools import asked_call
from agents.chat.port import Message
from agents.transcript import Transcript
from agents.window import Composed, Window, WindowLimits, compose

HEAD: tuple[Message, ...] = ({"role": "system", "content": "Be a worker."}, {"role": "user", "content": "Task: t"})


WIDE = WindowLimits(token_cap=1_000_000)


@dataclass
class Talk:
    """A transcript with its window, as a session keeps them."""

    transcript: Transcript
    window: Window
    limits: WindowLimits = WIDE
    calls: int = 0
    estimator: Estimator = field(default_factory=Estimator)

    def turn(self, *results: str, text: str = "", arguments: str = '{"path": "a"}') -> None:
        """One reply with a call for each result."""
        asked = [asked_call(f"c{self.calls + i}", "read_file", arguments) for i in range(len(results))]
        self.calls += len(results)
        self.transcript.say(text, asked)
        for call, result in zip(asked, results, strict=True):
            self.transcript.answer(call.call_id, result, "ok")

    def compose(self, *notices: str, shrink: int = 0, send: bool = True) -> Composed:
        """The next request, sent unless told otherwise."""
        composed = compose(
            self.transcript.head,
            self.transcript.entries,
            self.window,
            self.limits,
            self.estimator.request,
            notices=notices,
            shrink=shrink,
        )
        if send:
            self.window = composed.window
        return composed


def new_talk(limits: WindowLimits = WIDE) -> Talk:
    """One that has only begun."""
    return Talk(Transcript(HEAD), Window(HEAD), limits)


def in_full(messages: Sequence[Message]) -> list[str]:
    """The ids of the calls whose results are shown."""
    return [message["tool_call_id"] for message in messages if message["role"] == "tool"]


def check_pairs(messages: Sequence[Message]) -> None:
    """Every call is followed by its result before anything else, and no result stands alone."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert waiting.pop(0) == message["tool_call_id"]
            continue
        assert not waiting
        calls = message.get("tool_calls", ())
        assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in calls)
        assert message["content"] or calls
        waiting = [call["id"] for call in calls]
    assert not waiting


def digest_of(messages: Sequence[Message]) -> str:
    """What stands for the calls that are not, if any."""
    return next((m["content"] for m in messages if m["content"] and m["content"].startswith("[Your earlier")), "")
