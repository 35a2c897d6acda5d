"""The window fits: under the token cap, and cut further where an endpoint still refuses it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.chat.estimate import Estimator
from agents.chat.port import Message
from agents.transcript import RESULT_CHARS, Transcript, assistant_message
from agents.window import Window, WindowLimits
from tests.support.talk import HEAD, Talk, check_pairs, digest_of, in_full, new_talk


def test_one_huge_result_is_cut_head_and_tail() -> None:
    """A 100k result is shown in 16 KiB, head and tail, with the call id and offset to read on from."""
    talk = new_talk()
    text = "".join(f"{n:09}\n" for n in range(10_000))
    talk.turn(text)
    shown = talk.compose().messages[-1]["content"]
    head, marker, tail = shown.partition('\n[... cut; read_output(call_id="c0", offset=')
    offset = int(marker and tail.split(")")[0])
    assert RESULT_CHARS - 5 <= len(shown) <= RESULT_CHARS
    assert head == text[:offset]
    assert shown.endswith(text[-5_000:])
    assert shown.count("[... cut") == 1
    assert talk.transcript.output("c0") == text


def test_near_the_token_cap_it_compacts_with_headroom() -> None:
    """Large results compact before 50 calls, and a compaction leaves room for more than one result."""
    talk = new_talk(WindowLimits(token_cap=20_000))
    compacted = []
    for number in range(60):
        talk.turn(f"{number} " + "word " * 600)
        composed = talk.compose()
        assert composed.tokens <= 20_000
        compacted.append(composed.compacted)
    assert any(compacted)
    assert sum(compacted) <= 60 / 5


TURNS = st.lists(
    st.one_of(
        st.lists(st.integers(0, 60_000), min_size=1, max_size=4),
        st.lists(st.integers(0, 300), min_size=20, max_size=60),
        st.sampled_from(["text", "reminder"]),
    ),
    max_size=40,
)


@settings(max_examples=60)
@given(
    TURNS,
    st.sampled_from([4_000, 20_000, 120_000]),
    st.integers(0, 4),
    st.sampled_from(["lorem ipsum ", "{[(;!,1)]}\n", "\u6587\u5b57\u5217\u3092\u4e26\u3079\u308b\u3002"]),
)
def test_any_transcript_fits_and_keeps_its_pairs(
    turns: list[list[int] | str], cap: int, shrink: int, filling: str
) -> None:
    """Over random transcripts: caps hold at every request, pairs are whole, the opening and the notices stand where
    they belong, and every call is in full or in the digest. The newest calls stay together, whatever was said since."""
    talk = new_talk(WindowLimits(token_cap=cap))
    talk.transcript = Transcript(HEAD, result_chars=min(RESULT_CHARS, cap))
    last = 0
    for turn in turns:
        if isinstance(turn, list):
            last = len(turn)
            talk.turn(*(filling * (size // len(filling)) for size in turn), text="Looking.")
        else:
            said = assistant_message("thinking", ())
            talk.transcript.say(said, ()) if turn == "text" else talk.transcript.remind("go on")
        composed = talk.compose("notice")
        assert composed.tokens == Estimator().request(composed.messages) <= cap
        assert len(in_full(composed.messages)) <= max(50, last + 3 * 20)
        assert composed.messages[:2] == HEAD
        assert composed.messages[-1]["content"] == "notice"
        check_pairs(composed.messages)
        if composed.compacted:
            assert len(in_full(composed.messages)) <= max(20, last + 3 * 20)
    shrunk = talk.compose("notice", shrink=shrink, send=False)
    check_pairs(shrunk.messages)
    assert shrunk.messages[:2] == HEAD
    assert shrunk.messages[-1]["content"] == "notice"


@pytest.mark.parametrize("shrink", [1, 2, 3, 4])
def test_no_message_is_shrunk_to_nothing(shrink: int) -> None:
    """A few short words cut to a share of themselves still say something: endpoints refuse an empty message."""
    talk = new_talk()
    talk.turn("", "", text="Looking.")
    talk.transcript.say(assistant_message("ok", ()), ())
    check_pairs(talk.compose("notice", shrink=shrink, send=False).messages)


def test_the_opening_alone_may_exceed_the_cap() -> None:
    """The task is never cut: where it alone is too long, everything else gives way and the endpoint has the word."""
    head: tuple[Message, ...] = (HEAD[0], {"role": "user", "content": "Task: t\n" + "word " * 5_000})
    talk = Talk(Transcript(head), Window(head), WindowLimits(token_cap=1_000))
    for number in range(30):
        talk.turn(f"result {number} " * 100)
        messages = talk.compose("notice").messages
        assert messages[:2] == head
        check_pairs(messages)
    assert len(json.dumps(messages[2:])) < 1_000


def test_shrinking_cuts_the_original_to_four_fifths_and_on() -> None:
    """After context-length errors 10,000 characters become 8,000, 6,000, 4,000, 2,000 of the original, 60 to 40 around
    one marker."""
    text = "".join(f"{n:09}\n" for n in range(1_000))
    talk = new_talk()
    talk.turn(text, arguments="{}")
    for shrink, size in enumerate((8_000, 6_000, 4_000, 2_000), 1):
        composed = talk.compose(shrink=shrink, send=False)
        shown = composed.messages[-1]["content"]
        assert abs(len(shown) - size) <= 10
        assert shown.count("[... cut") == 1
        head = shown.index("\n[... cut")
        assert abs(head / (len(shown) - 70) - 0.6) < 0.02
        assert composed.compacted
        assert composed.messages[:2] == HEAD


def test_shrinking_takes_the_longest_texts_first() -> None:
    """Short results stay whole as long as cutting the long ones is enough."""
    talk = new_talk()
    for result in ("short", "y" * 9_000, "z" * 9_000):
        talk.turn(result)
    messages = talk.compose(shrink=2, send=False).messages
    check_pairs(messages)
    assert messages[3]["content"] == "short"
    assert len(messages[5]["content"]) == len(messages[-1]["content"]) < 5_500


def test_what_the_model_said_is_never_cut() -> None:
    """Where its own long arguments are what does not fit, the whole turn goes to the digest, and its calls stay
    readable by their ids."""
    talk = new_talk()
    talk.turn("short")
    talk.turn("ok", arguments=json.dumps({"path": "a", "file_text": "y" * 9_000}))
    talk.turn("z" * 500)
    composed = talk.compose(shrink=3, send=False)
    check_pairs(composed.messages)
    assert composed.tokens < talk.compose(send=False).tokens * 0.5
    assert in_full(composed.messages) == ["c0", "c2"] or in_full(composed.messages) == ["c2"]
    assert "- c1: read_file" in digest_of(composed.messages)


def test_shrinking_twice_leaves_one_marker_and_holds_afterwards() -> None:
    """What a context-length error taught stays: later requests keep the shrunk prefix and its size as the cap."""
    talk = new_talk()
    talk.turn("".join(f"{n:09}\n" for n in range(1_600)))
    first = talk.compose(shrink=1)
    talk.turn("small")
    second = talk.compose()
    assert second.compacted  # beyond what the endpoint took last time
    assert second.tokens <= first.tokens
    shrunk = talk.compose(shrink=3)
    assert all(m["content"].count("[... cut") <= 1 for m in shrunk.messages if m["role"] == "tool")
