"""Finds an endpoint that cuts prompts and says nothing: Ollama does, whose num_ctx is smaller than what a model can."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from agents.chat.port import Message

LEAST_ESTIMATE = 3_000
"""Tokens: a smaller prompt fits every endpoint, and what a server adds or leaves out weighs too much in it."""
MOST_OVERESTIMATED = 5
"""A prompt of which an endpoint counts a smaller part than one in so many was cut. The estimate is on the high side by
half for English and code, and three times at most, for emoji and Cyrillic (tests/agents/chat/test_chat_values.py)."""
MOST_CONVERSATIONS = 64


class _Seen(NamedTuple):
    opening: Message  # held, so that its identity cannot be another's
    estimate: int
    counted: int


class PromptWatch:
    """Compares what an endpoint counted with what was sent, by conversation: parallel ones may share it."""

    def __init__(self) -> None:
        self._seen: OrderedDict[int, _Seen] = OrderedDict()
        self._lock = threading.Lock()

    def was_cut(self, messages: Sequence[Message], estimate: int, counted: int) -> bool:
        """Whether the endpoint read less than it was sent. `counted` are its own prompt tokens, `estimate` are ours.
        The surest sign: a conversation grows and its prompt tokens do not."""
        opening = next((message for message in messages if message.get("role") == "user"), None)
        if opening is None or estimate < LEAST_ESTIMATE:
            return False
        now = _Seen(opening, estimate, counted)
        with self._lock:
            before = self._seen.pop(id(opening), now)
            # the prompt of which all that had been added was counted too
            self._seen[id(opening)] = now if estimate > before.estimate and not _stands(before, now) else before
            if len(self._seen) > MOST_CONVERSATIONS:
                self._seen.popitem(last=False)
        grown = estimate - before.estimate
        return counted * MOST_OVERESTIMATED < estimate or (grown >= LEAST_ESTIMATE and _stands(before, now))


def _stands(before: _Seen, now: _Seen) -> bool:
    """Whether the endpoint's count grew by next to nothing of what the prompt grew by."""
    return (now.counted - before.counted) * 2 * MOST_OVERESTIMATED < now.estimate - before.estimate
