"""What a program printed, without what drives a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.ansi import plain


@pytest.mark.parametrize(
    ("printed", "left"),
    [
        ("\x1b[1;31mred\x1b[0m \x1b[2K\x1b[?25lend", "red end"),
        ("\x9b31mred\x9bm", "red"),
        ("\x1b]0;a title\x07text \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "text link"),
        ("\x9d0;a title\x9ctext\x1bPq#0\x1b\\", "text"),
        ("\x1b(Ba\x1bMb\x1b7c\x1b=d", "abcd"),
        ("50 %\r100 %\ttab é 漢 [31m", "50 %\r100 %\ttab é 漢 [31m"),
    ],
    ids=["CSI", "8-bit CSI", "OSC", "8-bit OSC and DCS", "other escapes", "no sequence"],
)
def test_sequences_go_whole(printed: str, left: str) -> None:
    """Not only their first byte: what stands in them is for a terminal."""
    assert plain(printed) == left


def test_an_open_sequence_hides_nothing_behind_it() -> None:
    """Where a terminal would wait for an end that never comes, the text stays."""
    assert plain("\x1b]0;open\nFAILED") == "0;open\nFAILED"
    assert plain("\x1b[12\nFAILED") == "12\nFAILED"


@given(st.text(alphabet="\x1b\x9b\x9d\x9c\x07[]P\\0;m \n", max_size=40))
def test_nothing_is_made_up(text: str) -> None:
    """What is left stands in the text, in its order; a text without a sequence stays as it is."""
    rest = iter(text)
    assert all(char in rest for char in plain(text))
    assert plain(bare := "".join(char for char in text if char < "\x7f" and char != "\x1b")) == bare
