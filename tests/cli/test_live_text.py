"""What a screen may show of a reply while it comes, however its text was cut into pieces."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.live_text import MOST_HEARD, LiveReplies, ReplyWords
from orchestrator.cli.render.board import Board
from orchestrator.cli.render.grid import Growing
from orchestrator.config.secrets import Redactor
from orchestrator.domain import progress as p
from orchestrator.domain.ansi import plain
from tests.cli.test_screens import AT
from tests.support.screens import drawn

SECRETS = ("abcabd", "abcabdabc", "hunter2-key", "hunt-hunter2-key", "zz zz zz")
PARTS = st.sampled_from(
    [*SECRETS, "abcab", "hunt", "hunter2-", "zz ", " ", "and ", "\x1b[31m", "\x1b]0;title\x07", "\n"]
)


def _heard(pieces: Sequence[str], redact: Redactor | None = None) -> ReplyWords:
    words = ReplyWords(redact or Redactor(SECRETS))
    words.begin()
    for piece in pieces:
        words.hear(piece)
    return words


def _shown(words: ReplyWords) -> str:
    newest = words.newest()
    return newest.words if newest else ""


@given(st.lists(PARTS, max_size=12), st.data())
def test_no_cut_into_pieces_shows_more_than_the_whole_redacted_would(parts: list[str], data: st.DataObject) -> None:
    """Looked at after every piece, what is shown is the beginning of the whole text redacted."""
    text, redact = "".join(parts), Redactor(SECRETS)
    words, whole = ReplyWords(redact), redact(plain(text))
    words.begin()
    rest = text
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        words.hear(rest[:size])
        rest = rest[size:]
        assert whole.startswith(_shown(words))
        assert not [secret for secret in SECRETS if secret in _shown(words)]


def test_only_what_may_become_a_secret_or_a_sequence_waits() -> None:
    """Everything before it is shown at once, and it as soon as it turns out to be none."""
    words = _heard(["The key is hunt"])
    assert _shown(words) == "The key is "
    words.hear("ing.")
    assert _shown(words) == "The key is hunting."
    words.hear(" hunter2-")
    words.hear("key\x1b[3")
    assert _shown(words) == "The key is hunting. ***"
    words.hear("1m!")
    assert _shown(words) == "The key is hunting. ***!"


def test_behind_the_turn_nothing_is_shown() -> None:
    """Neither what was heard nor what still comes, and the next reply begins with nothing."""
    words = _heard(["Hello"])
    words.end()
    words.hear(" there")
    assert words.newest() is None
    words.begin()
    assert words.newest() is None
    words.hear("Again")
    assert _shown(words) == "Again"


def test_it_is_told_how_soon_the_first_word_came() -> None:
    """Measured from the request, not from the look."""
    seconds = iter([10.0, 11.5, 99.0])
    words = ReplyWords(Redactor(()), clock=lambda: next(seconds))
    words.begin()
    words.hear("")
    words.hear("Well")
    newest = words.newest()
    assert newest is not None and newest.first_ms == 1500.0


def test_a_reply_without_end_costs_no_more_than_its_bound() -> None:
    """What is kept is a screen's line, and what is looked at is bounded."""
    words = _heard(["x" * 1_000_000, "y" * 1_000_000, "z"])
    assert _shown(words) == "x" * 400
    many = _heard(["ab " for _ in range(MOST_HEARD)])
    assert len(_shown(many)) == 400


def test_a_look_never_waits_for_a_reader_nor_a_reader_for_a_look() -> None:
    """Two threads at one reply: all of it is heard, and every look shows the redacted text's beginning or end."""
    words, redact = _heard([]), Redactor(SECRETS)
    looks: list[str] = []

    def read() -> None:
        for _ in range(2_000):
            words.hear("hunter2-key, ")

    reader = threading.Thread(target=read)
    reader.start()
    while reader.is_alive():
        looks.append(_shown(words))
    reader.join()
    assert _shown(words) == redact("hunter2-key, " * 2_000)[-400:]
    assert not [look for look in looks if "hunter" in look]


def test_the_end_of_a_reply_stays_within_its_cell() -> None:
    """The newest words are the last to go, and wide characters count as two columns."""
    assert Growing("answers after 1 s: ", "short").within(40).plain == "answers after 1 s: short"
    assert Growing("answers after 1 s: ", "one two three four").within(30).plain == "answers after 1 s: …three four"
    wide = Growing("a: ", "語" * 30).within(20)
    assert wide.cell_len <= 20 and wide.plain.endswith("語語")
    assert len(Growing("answers after 1 s: ", "word").within(5).plain) == 23, "the table itself cuts what is too narrow"


def test_the_boards_line_has_the_newest_words_at_any_width() -> None:
    """One line a task, no longer than the screen; markup is text."""
    replies = LiveReplies(Redactor(()))
    board = Board(newest=replies.newest)
    board.apply(p.TaskClaimed(at=AT, task="t", attempt=1, attempt_id="a", title="t", budget=9))
    board.apply(p.TurnStarted(at=AT, task="t", attempt=1, turn=1, turns=19, calls_used=0, budget=9))
    assert "asks the model (turn 1 of 19)" in drawn(board.view(10), 100)
    words = replies.of("t")
    words.begin()
    words.hear("[red]word\x07 " * 50 + "and\nthe end")
    for width in (60, 80, 200):
        (line,) = [each for each in drawn(board.view(10), width).splitlines() if "answers after" in each]
        assert "the end" in line and len(line) <= width
    assert "[red]word\ufffd" in line
    words.end()
    assert "the end" not in drawn(board.view(10), 100)
