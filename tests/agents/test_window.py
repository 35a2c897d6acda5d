"""The window: what a model is shown of a transcript."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.window import WindowLimits, select
from tests.support.talk import HEAD, check_pairs, digest_of, in_full, new_talk


def test_a_compaction_says_what_the_request_would_have_been_and_its_cap() -> None:
    """The tokens without compaction, with it, and the cap, for whoever judges what it gained."""
    talk = new_talk(WindowLimits(token_cap=3_000))
    told = []
    for _ in range(8):
        talk.turn("word " * 900)
        told.append(talk.compose())
    for composed in told:
        assert composed.token_cap == 3_000
        assert composed.compacted == (composed.uncompacted > 3_000)
        assert composed.tokens < composed.uncompacted if composed.compacted else composed.tokens == composed.uncompacted
    assert sum(composed.compacted for composed in told) > 2


# --- which items stay ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reserved", "others", "total", "others_kept"),
    [(14, 30, 20, 6), (17, 30, 20, 3), (26, 30, 19, 3), (20, 30, 19, 3), (26, 0, 19, 0), (0, 30, 20, 20), (2, 3, 5, 3)],
)
def test_reserved_items_come_first_but_leave_room(reserved: int, others: int, total: int, others_kept: int) -> None:
    """With 20 places: reserved ones stay, at least 3 others too, and a digest of reserved takes one."""
    flags = [True] * reserved + [False] * others
    kept = select(flags, 20, 3)
    assert len(kept) == total
    assert sum(not flags[i] for i in kept) == others_kept
    assert [i for i in kept if not flags[i]] == list(range(len(flags) - others_kept, len(flags)))[:others_kept]


@given(st.lists(st.booleans(), max_size=80), st.integers(0, 30), st.integers(0, 5))
def test_selection_never_exceeds_its_places(flags: list[bool], keep: int, least: int) -> None:
    """Whatever is reserved, at most `keep` items stay, in order, the newest of each kind."""
    kept = select(flags, keep, least)
    assert len(kept) <= keep
    assert list(kept) == sorted(set(kept))
    for kind in (True, False):
        of_kind = [i for i in range(len(flags)) if flags[i] is kind]
        chosen = [i for i in kept if flags[i] is kind]
        assert chosen == of_kind[len(of_kind) - len(chosen) :]


# --- compaction ----------------------------------------------------------------------------------------------------


def test_fifty_calls_stand_in_full_and_the_next_compacts_to_twenty() -> None:
    """Nothing is compacted up to 50 calls; the 51st compacts once, down to the last 20."""
    talk = new_talk()
    for number in range(50):
        talk.turn(f"result {number}")
        assert not talk.compose().compacted
    talk.turn("result 50")
    composed = talk.compose()
    assert composed.compacted
    assert in_full(composed.messages) == [f"c{n}" for n in range(31, 51)]
    assert [line.split(":")[0] for line in digest_of(composed.messages).splitlines()[1:]] == [
        f"- c{n}" for n in range(31)
    ]
    assert composed.messages[:2] == HEAD
    talk.turn("result 51")
    assert not talk.compose().compacted


def test_requests_share_their_prefix_between_compactions() -> None:
    """Each request begins with all of the one before it but its notices, byte for byte, until one compacts."""
    talk, before, compactions = new_talk(), new_talk().compose(), 0
    for number in range(200):
        talk.turn(f"result {number}")
        now = talk.compose(f"used {number}")
        compactions += now.compacted
        if not now.compacted:
            stable = before.messages[:-1] if number else before.messages
            assert json.dumps(now.messages[: len(stable)]) == json.dumps(stable)
        assert now.messages[-1] == {"role": "user", "content": f"used {number}"}
        before = now
    assert compactions == 5  # at 51 calls, then every 31


def test_notices_stand_last_and_are_replaced() -> None:
    """Only the newest notices are in a request, as its last message."""
    talk = new_talk()
    talk.turn("a")
    talk.compose("old one", "old two")
    talk.turn("b")
    messages = talk.compose("new").messages
    assert messages[-1] == {"role": "user", "content": "new"}
    assert "old" not in json.dumps(messages)


def test_composing_changes_nothing() -> None:
    """The same transcript and window give the same request again and again (a pure function)."""
    talk = new_talk()
    for number in range(60):
        talk.turn(f"result {number}")
    assert talk.compose("n", send=False) == talk.compose("n", send=False)


def test_a_flood_in_one_reply_is_kept_in_part() -> None:
    """A reply with 157 calls is over every cap by itself: its newest pairs stay, the others are digested."""
    talk = new_talk()
    for number in range(5):
        talk.turn(f"result {number}")
    talk.turn(*["same"] * 157, text="all at once")
    messages = talk.compose().messages
    check_pairs(messages)
    assert len(in_full(messages)) == 19  # 3 others, 16 of the flood; the digest takes the twentieth place
    assert len(digest_of(messages).splitlines()) == 1 + 162 - 19


def test_the_last_reminder_outlives_compactions() -> None:
    """A reminder stays until another replaces it, however many calls follow (pinned)."""
    talk = new_talk()
    talk.transcript.remind("old strategy")
    talk.transcript.remind("new strategy")
    for number in range(120):
        talk.turn(f"result {number}")
        composed = talk.compose()
    contents = [message["content"] for message in composed.messages]
    assert "new strategy" in contents
    assert "old strategy" not in contents


def test_no_result_becomes_unknowable() -> None:
    """After thousands of calls the digest is bounded, and every call is listed and readable by its id."""
    talk = new_talk()
    for number in range(3_000):
        talk.turn(f"result {number} " + "x" * 500)
        composed = talk.compose()
    digest = digest_of(composed.messages)
    assert len(digest) < 70_000
    counted = int(digest.split(" calls before these (read_file ")[1].split(")")[0])
    assert counted + len(digest.splitlines()) - 2 + len(in_full(composed.messages)) == 3_000
    listing = (talk.transcript.output("digest") or "").splitlines()
    assert [line.split(":")[0] for line in listing] == [f"- c{n}" for n in range(3_000)]
    assert talk.transcript.output("c7") == "result 7 " + "x" * 500


def test_the_digest_begins_alike_from_one_compaction_to_the_next() -> None:
    """A later digest begins with the bytes of the one before for as long as all its lines fit."""
    talk, digests = new_talk(), list[str]()
    for number in range(200):
        talk.turn(f"result {number}")
        composed = talk.compose()
        if composed.compacted:
            digests.append(digest_of(composed.messages))
    assert all(later.startswith(earlier) for earlier, later in pairwise(digests))
