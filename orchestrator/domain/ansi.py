"""Output of programs as plain text, for people who read it on a terminal and for models."""

from __future__ import annotations

import re

# Control sequences (CSI), strings up to their terminator on the same line (OSC, DCS, SOS, PM, APC), and other escapes,
# in their 7-bit and 8-bit forms. No part can match what the one behind it does: linear, because the input is hostile.
_ANSI = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]*(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]*[0-~]"
)

# The beginning of one whose end has not come yet, at the end of a text.
_BEGUN = re.compile(
    "(?:(?:\x1b\\[|\x9b)[0-?]*[ -/]*|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*|\x1b[ -/]*)\\Z"
)
_LONGEST = 64


def plain(text: str) -> str:
    """What a program printed without the sequences by which it drives a terminal, whole. Not for the text of files or
    their changes: who reviews these must see all that is in them."""
    return _ANSI.sub("", text) if "\x1b" in text or not text.isascii() else text


def finished(text: str) -> int:
    """How many characters of a text that is still coming are none of the beginning of a sequence, as far as such a
    beginning is no longer than 64 characters."""
    begun = _BEGUN.search(text, max(len(text) - _LONGEST, 0))
    return begun.start() if begun else len(text)
