"""The window: what a model is shown of a transcript."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.chat.estimate import Estimator
from agents.chat.json_tools import asked_call
from agents.chat.port import Message
from agents.transcript import RESULT_CHARS, Remark, Transcript, Turn, assistant_message, cut, excerpt
from agents.window import Composed, Window, WindowLimits, compose, select

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
        self.transcript.say(assistant_message(text, asked), asked)
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


def _talk(limits: WindowLimits = WIDE) -> Talk:
    return Talk(Transcript(HEAD), Window(HEAD), limits)


def test_a_compaction_says_what_the_request_would_have_been_and_its_cap() -> None:
    """The tokens without compaction, with it, and the cap, for whoever judges what it gained."""
    talk = _talk(WindowLimits(token_cap=3_000))
    told = []
    for _ in range(8):
        talk.turn("word " * 900)
        told.append(talk.compose())
    for composed in told:
        assert composed.token_cap == 3_000
        assert composed.compacted == (composed.uncompacted > 3_000)
        assert composed.tokens < composed.uncompacted if composed.compacted else composed.tokens == composed.uncompacted
    assert sum(composed.compacted for composed in told) > 2


def _in_full(messages: Sequence[Message]) -> list[str]:
    return [message["tool_call_id"] for message in messages if message["role"] == "tool"]


def _check_pairs(messages: Sequence[Message]) -> None:
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


def _digest(messages: Sequence[Message]) -> str:
    return next((m["content"] for m in messages if m["content"] and m["content"].startswith("[Your earlier")), "")


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
    talk = _talk()
    for number in range(50):
        talk.turn(f"result {number}")
        assert not talk.compose().compacted
    talk.turn("result 50")
    composed = talk.compose()
    assert composed.compacted
    assert _in_full(composed.messages) == [f"c{n}" for n in range(31, 51)]
    assert [line.split(":")[0] for line in _digest(composed.messages).splitlines()[1:]] == [
        f"- c{n}" for n in range(31)
    ]
    assert composed.messages[:2] == HEAD
    talk.turn("result 51")
    assert not talk.compose().compacted


def test_requests_share_their_prefix_between_compactions() -> None:
    """Each request begins with all of the one before it but its notices, byte for byte, until one compacts."""
    talk, before, compactions = _talk(), _talk().compose(), 0
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
    talk = _talk()
    talk.turn("a")
    talk.compose("old one", "old two")
    talk.turn("b")
    messages = talk.compose("new").messages
    assert messages[-1] == {"role": "user", "content": "new"}
    assert "old" not in json.dumps(messages)


def test_composing_changes_nothing() -> None:
    """The same transcript and window give the same request again and again (a pure function)."""
    talk = _talk()
    for number in range(60):
        talk.turn(f"result {number}")
    assert talk.compose("n", send=False) == talk.compose("n", send=False)


def test_a_flood_in_one_reply_is_digested_as_one() -> None:
    """A reply with 157 calls is over every cap by itself, and a turn stands whole or not at all: it is digested, with
    what stood before it."""
    talk = _talk()
    for number in range(5):
        talk.turn(f"result {number}")
    talk.turn(*["same"] * 157, text="all at once")
    messages = talk.compose().messages
    _check_pairs(messages)
    assert len(_in_full(messages)) == 0
    assert len(_digest(messages).splitlines()) == 1 + 162


def test_a_last_turn_of_many_calls_stays_whole() -> None:
    """What the model has just asked for it is shown, with 3 turns before it, as long as the window holds so many."""
    talk = _talk()
    for number in range(20):
        talk.turn(f"result {number}")
    talk.turn(*["same"] * 40, text="all at once")
    assert len(_in_full(talk.compose().messages)) == 3 + 40


def test_the_last_reminder_outlives_compactions() -> None:
    """A reminder stays until another replaces it, however many calls follow (pinned)."""
    talk = _talk()
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
    talk = _talk()
    for number in range(3_000):
        talk.turn(f"result {number} " + "x" * 500)
        composed = talk.compose()
    digest = _digest(composed.messages)
    assert len(digest) < 70_000
    counted = int(digest.split(" calls before these (read_file ")[1].split(")")[0])
    assert counted + len(digest.splitlines()) - 2 + len(_in_full(composed.messages)) == 3_000
    listing = (talk.transcript.output("digest") or "").splitlines()
    assert [line.split(":")[0] for line in listing] == [f"- c{n}" for n in range(3_000)]
    assert talk.transcript.output("c7") == "result 7 " + "x" * 500


def test_the_digest_begins_alike_from_one_compaction_to_the_next() -> None:
    """A later digest begins with the bytes of the one before for as long as all its lines fit."""
    talk, digests = _talk(), list[str]()
    for number in range(200):
        talk.turn(f"result {number}")
        composed = talk.compose()
        if composed.compacted:
            digests.append(_digest(composed.messages))
    assert all(later.startswith(earlier) for earlier, later in pairwise(digests))


# --- tokens --------------------------------------------------------------------------------------------------------


def test_one_huge_result_is_cut_head_and_tail() -> None:
    """A 100k result is shown in 16 KiB, head and tail, with the call id and offset to read on from."""
    talk = _talk()
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
    talk = _talk(WindowLimits(token_cap=20_000))
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
    they belong, and every call is in full or in the digest."""
    talk = _talk(WindowLimits(token_cap=cap))
    talk.transcript = Transcript(HEAD, result_chars=min(RESULT_CHARS, cap))
    for turn in turns:
        if isinstance(turn, list):
            talk.turn(*(filling * (size // len(filling)) for size in turn), text="Looking.")
        else:
            said = assistant_message("thinking", ())
            talk.transcript.say(said, ()) if turn == "text" else talk.transcript.remind("go on")
        composed = talk.compose("notice")
        assert composed.tokens == Estimator().request(composed.messages) <= cap
        last = len(turn) if isinstance(turn, list) else 0
        assert len(_in_full(composed.messages)) <= max(50, last + 3 * 20)
        assert composed.messages[:2] == HEAD
        assert composed.messages[-1]["content"] == "notice"
        _check_pairs(composed.messages)
        if composed.compacted:
            assert len(_in_full(composed.messages)) <= max(20, last + 3 * 20)
    shrunk = talk.compose("notice", shrink=shrink, send=False)
    _check_pairs(shrunk.messages)
    assert shrunk.messages[:2] == HEAD
    assert shrunk.messages[-1]["content"] == "notice"


@pytest.mark.parametrize("shrink", [1, 2, 3, 4])
def test_no_message_is_shrunk_to_nothing(shrink: int) -> None:
    """A few short words cut to a share of themselves still say something: endpoints refuse an empty message."""
    talk = _talk()
    talk.turn("", "", text="Looking.")
    talk.transcript.say(assistant_message("ok", ()), ())
    _check_pairs(talk.compose("notice", shrink=shrink, send=False).messages)


def test_the_opening_alone_may_exceed_the_cap() -> None:
    """The task is never cut: where it alone is too long, everything else gives way and the endpoint has the word."""
    head: tuple[Message, ...] = (HEAD[0], {"role": "user", "content": "Task: t\n" + "word " * 5_000})
    talk = Talk(Transcript(head), Window(head), WindowLimits(token_cap=1_000))
    for number in range(30):
        talk.turn(f"result {number} " * 100)
        messages = talk.compose("notice").messages
        assert messages[:2] == head
        _check_pairs(messages)
    assert len(json.dumps(messages[2:])) < 1_000


# --- shrinking -----------------------------------------------------------------------------------------------------


def test_shrinking_cuts_the_original_to_four_fifths_and_on() -> None:
    """After context-length errors 10,000 characters become 8,000, 6,000, 4,000, 2,000 of the original, 60 to 40 around
    one marker."""
    text = "".join(f"{n:09}\n" for n in range(1_000))
    talk = _talk()
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
    talk = _talk()
    for result in ("short", "y" * 9_000, "z" * 9_000):
        talk.turn(result)
    messages = talk.compose(shrink=2, send=False).messages
    _check_pairs(messages)
    assert messages[3]["content"] == "short"
    assert len(messages[5]["content"]) == len(messages[-1]["content"]) < 5_500


def test_what_the_model_said_is_never_cut() -> None:
    """Where its own long arguments are what does not fit, the whole turn goes to the digest, and its calls stay
    readable by their ids."""
    talk = _talk()
    talk.turn("short")
    talk.turn("ok", arguments=json.dumps({"path": "a", "file_text": "y" * 9_000}))
    talk.turn("z" * 500)
    composed = talk.compose(shrink=3, send=False)
    _check_pairs(composed.messages)
    assert composed.tokens < talk.compose(send=False).tokens * 0.5
    assert _in_full(composed.messages) == ["c0", "c2"] or _in_full(composed.messages) == ["c2"]
    assert "- c1: read_file" in _digest(composed.messages)


def test_shrinking_twice_leaves_one_marker_and_holds_afterwards() -> None:
    """What a context-length error taught stays: later requests keep the shrunk prefix and its size as the cap."""
    talk = _talk()
    talk.turn("".join(f"{n:09}\n" for n in range(1_600)))
    first = talk.compose(shrink=1)
    talk.turn("small")
    second = talk.compose()
    assert second.compacted  # beyond what the endpoint took last time
    assert second.tokens <= first.tokens
    shrunk = talk.compose(shrink=3)
    assert all(m["content"].count("[... cut") <= 1 for m in shrunk.messages if m["role"] == "tool")


# --- small parts ---------------------------------------------------------------------------------------------------


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
    asked = [asked_call("a", "search", "{}"), asked_call("b", "search", "{}")]
    transcript.say(assistant_message("", asked), asked)
    transcript.answer("b", "second", "ok")
    assert (transcript.unanswered, transcript.entries) == (("a",), [])
    for unknown in ("b", "c"):
        with pytest.raises(ValueError, match="not waiting"):
            transcript.answer(unknown, "x", "ok")
    transcript.answer("a", "first", "ok")
    turn = transcript.entries[0]
    assert isinstance(turn, Turn)
    assert [pair.result for pair in turn.pairs] == ["first", "second"]
    transcript.say(assistant_message("", ()), ())
    assert transcript.entries[1] == Remark({"role": "assistant", "content": "(empty reply)"})
