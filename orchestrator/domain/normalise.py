"""Normalising output, so that two runs that differ only in noise have one hash.

Noise is what changes without anything having changed: colours, line ends, where the workspace or a temporary folder
lies, times, durations, addresses, ids, ports, process ids, line numbers. A counter is no noise: "3 failed" and
"2 failed" stay two texts. Every pattern is linear in the input, because the input is hostile.
"""

from __future__ import annotations

import hashlib
import re

FINGERPRINT_CHARS = 240

# In order: a later rule sees what the earlier ones left. Three go further than their plain form: bare clock times are
# times, units may be spelt out, and `", line 12` of a traceback is a line number. A temporary path ends at a quote,
# comma or closing bracket, so that compact JSON keeps the counters behind it.
_TEMPORARY_PATH = r"/(?:tmp|var/folders)/[^\s\"'`,)\]}]+"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (_TEMPORARY_PATH, "<TMP>"),
        (r"(?<!\d)\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z\b|[+-]\d\d:?\d\d)?)?", "<TS>"),
        (r"(?<![\d:])\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?![\d:])", "<TS>"),
        (r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<UUID>"),
        (r"0x[0-9a-fA-F]{4,}", "<ADDR>"),
        (r"\b(?=[a-fA-F]*[0-9])(?=[0-9]*[a-fA-F])[0-9a-fA-F]{7,64}\b", "<SHA>"),
        (r"(?<!\d)(?:\d+[hm] ?){0,2}\d+(?:\.\d+)?\s?(?:[mnuµ]?s|min|secs?|seconds?|minutes?|milliseconds?)\b", "<DUR>"),
        (r"(host|\b\d{1,3}(?:\.\d{1,3}){3}|\[::1?\]):\d+", r"\1:<PORT>"),
        (r"(?i)\bpid[=: ] ?\d+", "<PID>"),
        (r"(\.\w+):\d+(?::\d+)?", r"\1:<L>"),
        (r"(\", line )\d+", r"\1<L>"),
    )
)
# A word of hexadecimal digits with a figure among them, or figures with their points and signs.
_FIGURES = re.compile(r"\b(?=[a-fA-F]*[0-9])[0-9a-fA-F]+\b|[0-9][0-9.,:]*")
_TEMPORARY = re.compile(_TEMPORARY_PATH)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def normalise(text: str, workspace_root: str = "") -> str:
    """`text` without its noise, white space collapsed. `workspace_root` is an absolute path, shown as <WS>."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    root = workspace_root.rstrip("/")
    if root and root in text:
        text = re.sub(re.escape(root) + r"(?![\w-])", "<WS>", text)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


def outcome_hash(text: str, workspace_root: str = "") -> str:
    """16 hex digits over the whole normalised text: the outcome hash that guards compare, and the error hash."""
    return hashlib.sha256(normalise(text, workspace_root).encode(errors="backslashreplace")).hexdigest()[:16]


def shape_hash(text: str, workspace_root: str = "") -> str:
    """16 hex digits over what is left of a text without its figures: digits and words of hexadecimal ones blanked, the
    lines sorted. Two texts with one shape differ in no word."""
    root = workspace_root.rstrip("/")
    blanked = _FIGURES.sub("#", _TEMPORARY.sub("<TMP>", text.replace(root, "<WS>") if root else text))
    lines = sorted(" ".join(line.split()) for line in blanked.splitlines())
    return hashlib.sha256("\n".join(lines).encode(errors="backslashreplace")).hexdigest()[:16]


def fingerprint_text(text: str, workspace_root: str = "") -> str:
    """The normalised text, cut to 240 characters after normalising: the message part of a fingerprint."""
    return normalise(text, workspace_root)[:FINGERPRINT_CHARS]
