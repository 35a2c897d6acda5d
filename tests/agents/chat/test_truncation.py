"""An endpoint that cuts prompts and says nothing is found by what it counts."""

from __future__ import annotations

import pytest

from agents.chat.model_chat import ModelChat
from agents.chat.port import ChatRequest
from agents.chat.truncation import PromptWatch
from orchestrator.config.settings import ModelSettings
from tests.support.chat_world import FixedClock
from tests.support.odd_endpoint import Asked, completion, odd_endpoint

LINES = "def add(left: int, right: int) -> int:\n    return left + right\n"


def test_a_cut_prompt_is_said_once_for_a_run() -> None:
    """The conversation grows, its prompt tokens stop at 4,096, as with Ollama's num_ctx."""

    def answer(asked: Asked) -> bytes:
        counted = min(asked.chars // 4, 4_096)
        return completion(asked, content="Hm.", usage={"prompt_tokens": counted, "completion_tokens": 5})

    told: list[str] = []
    with odd_endpoint(answer) as endpoint:
        settings = ModelSettings(name="m", base_url=endpoint.base_url)
        chat = ModelChat(settings, clock=FixedClock(), env={}, on_wait=told.append)
        messages: list[dict[str, str]] = [{"role": "user", "content": "Go."}]
        warned_at = None
        for _turn in range(12):
            reply = chat.complete(ChatRequest(list(messages)))
            assert not reply.estimated
            if told and warned_at is None:
                warned_at = chat.estimate(messages)
            messages += [{"role": "assistant", "content": "Hm."}, {"role": "user", "content": LINES * 100}]
        chat.close()
    assert warned_at is not None and warned_at < 15_000
    assert len(told) == 1 and "context_window" in told[0] and "4,096" in told[0]


@pytest.mark.parametrize("share", [0.29, 0.5, 0.8, 1.2])
def test_an_endpoint_that_reads_all_is_not_accused(share: float) -> None:
    """Whatever its tokenizer makes of our estimate, and whatever the parallel conversations are made of."""
    watch = PromptWatch()
    talks = [[{"role": "user", "content": str(number)}] for number in range(100)]
    for estimate in range(1_000, 200_000, 5_000):
        for number, talk in enumerate(talks):
            assert not watch.was_cut(talk, estimate, int(estimate * (share if number % 2 else share * 0.8)))


def test_a_window_that_was_compacted_is_no_cut() -> None:
    """A prompt may shrink, and grow again from there."""
    watch = PromptWatch()
    talk = [{"role": "user", "content": "Go."}]
    for estimate in (5_000, 50_000, 100_000, 20_000, 30_000, 90_000, 110_000):
        assert not watch.was_cut(talk, estimate, estimate * 3 // 4)


def test_a_small_prompt_says_nothing() -> None:
    """A template, or tools that are not counted, weigh too much in it."""
    assert not PromptWatch().was_cut([{"role": "user", "content": "Go."}], 2_000, 100)
