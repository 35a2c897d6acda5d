"""The transcript: what is kept of a conversation, whole, and how texts are cut for showing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.chat.json_tools import asked_call
from agents.transcript import Remark, Transcript, Turn, cut, excerpt
from tests.support.talk import HEAD


@given(st.text(max_size=400), st.integers(0, 300), st.sampled_from(["", "call_1"]))
def test_cut_never_exceeds_its_limit(text: str, limit: int, call_id: str) -> None:
    """A cut text has at most `limit` characters, and a short one is left alone."""
    shown = cut(text, limit, call_id)
    assert len(shown) <= limit
    assert len(text) > limit or shown == text


@given(st.text(max_size=5_000))
def test_an_excerpt_is_one_short_line(text: str) -> None:
    """A digest's excerpt has no line breaks and at most 80 characters."""
    assert len(excerpt(text, 80)) <= 100
    assert len(excerpt(text, 80).splitlines()) <= 1


def test_a_transcript_takes_one_result_per_call() -> None:
    """A second result, or one for a call that nobody made, is refused; a turn joins when all are answered."""
    transcript = Transcript(HEAD)
    transcript.say("", [asked_call("a", "search", "{}"), asked_call("b", "search", "{}")])
    transcript.answer("b", "second", "ok")
    assert (transcript.unanswered, transcript.entries) == (("a",), [])
    for unknown in ("b", "c"):
        with pytest.raises(ValueError, match="not waiting"):
            transcript.answer(unknown, "x", "ok")
    transcript.answer("a", "first", "ok")
    turn = transcript.entries[0]
    assert isinstance(turn, Turn)
    assert [pair.result for pair in turn.pairs] == ["first", "second"]
    transcript.say("", ())
    assert transcript.entries[1] == Remark("assistant", "(empty reply)")
