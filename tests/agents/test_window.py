"""The window: what a model is shown of a transcript."""

from __future__ import annotations

import json
from itertools import pairwise, takewhile

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
    ("reserved", "others", "kept"),
    [(1, [1] * 30, 19), (14, [1] * 30, 6), (17, [1] * 30, 3), (26, [1] * 30, 3), (26, [], 0), (1, [5] * 30, 3)],
)
def test_the_last_turn_stays_whole_and_leaves_room(reserved: int, others: list[int], kept: int) -> None:
    """With 20 places: a turn of so many calls stays, and the newest others that fit beside it, at least 3."""
    chosen = select([*others, reserved], [False] * len(others) + [True], 20, 3)
    assert chosen == tuple(range(len(others) - kept, len(others) + 1))


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=80), st.integers(0, 30), st.integers(0, 5))
def test_selection_never_exceeds_its_places(items: list[tuple[int, bool]], keep: int, least: int) -> None:
    """Whatever is reserved stays; of the others the newest, no more than fit or than must stay."""
    weights, flags = [weight for weight, _ in items], [flag for _, flag in items]
    kept = select(weights, flags, keep, least)
    assert list(kept) == sorted(set(kept))
    assert {i for i, flag in enumerate(flags) if flag} <= set(kept)
    others = [i for i, flag in enumerate(flags) if not flag]
    chosen = [i for i in kept if not flags[i]]
    assert chosen == others[len(others) - len(chosen) :]
    fit = list(takewhile(lambda i: weights[i] <= keep, reversed(others)))
    assert len(chosen) >= min(least, len(fit))
    assert len(chosen) <= least or sum(weights[i] for i in kept) <= keep


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


def test_a_flood_in_one_reply_is_digested_as_one() -> None:
    """A reply with 157 calls is over every cap by itself, and a turn stands whole or not at all: it is digested, with
    what stood before it."""
    talk = new_talk()
    for number in range(5):
        talk.turn(f"result {number}")
    talk.turn(*["same"] * 157, text="all at once")
    messages = talk.compose().messages
    check_pairs(messages)
    assert len(in_full(messages)) == 0
    assert len(digest_of(messages).splitlines()) == 1 + 162


def test_a_last_turn_of_many_calls_stays_whole() -> None:
    """What the model has just asked for it is shown, with 3 turns before it, as long as the window holds so many."""
    talk = new_talk()
    for number in range(20):
        talk.turn(f"result {number}")
    talk.turn(*["same"] * 40, text="all at once")
    assert len(in_full(talk.compose().messages)) == 3 + 40


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
