"""Normalised output: noise goes, facts stay, and hostile input costs no more than its length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.normalise import FINGERPRINT_CHARS, fingerprint_text, normalise, outcome_hash

TMP = "/tmp/"  # noqa: S108  # a text that is normalised, no file

NOISE = {
    "colours": ("\x1b[31mFAILED\x1b[0m a", "FAILED a"),
    "line ends": ("a\r\nb\r\n", "a\nb\n"),
    "white space": ("a   b\n\n\nc", "a b\nc"),
    "workspace root": ("/w/one/src/a.py failed", "/w/two/src/a.py failed"),
    "temporary folder": ("in /tmp/pytest-of-me/pytest-3/x0", "in /tmp/pytest-of-you/pytest-81/x1"),
    "temporary folder of macOS": ("/var/folders/q7/T/a1", "/var/folders/zz/T/b2"),
    "ISO time": ("at 2026-01-02T10:11:12Z done", "at 2025-12-31T23:59:59.123+01:00 done"),
    "time with a space": ("2026-01-02 10:11:12,345 INFO up", "2026-03-04 01:02:03,999 INFO up"),
    "clock": ("[10:11:12] up", "[23:59:59] up"),
    "UUID": ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-e89b-12d3-a456-42661417ffff"),
    "address": ("<O at 0x7f3a2c>", "<O at 0x10ab44>"),
    "commit": ("HEAD is now at 3f41f42", "HEAD is now at 9b78e9e2dc37bdec"),
    "duration": ("1 passed in 0.12s", "1 passed in 13.5s"),
    "duration spelt out": ("real 1m2.5s, 3 seconds", "real 12m0.1s, 14 seconds"),
    "milliseconds": ("took 12 ms", "took 1034 ms"),
    "port": ("listening on localhost:8080 and 127.0.0.1:5432", "listening on localhost:9 and 127.0.0.1:61234"),
    "process id": ("pid 12, pid=12", "pid 99871, pid=4"),
    "line number": ("src/a.py:12:4: E501", "src/a.py:312:80: E501"),
    "traceback line": ('File "a.py", line 12, in f', 'File "a.py", line 15, in f'),
}


@pytest.mark.parametrize("name", NOISE)
def test_noise_does_not_change_the_outcome(name: str) -> None:
    """The same result with other noise has one hash."""
    one, other = NOISE[name]
    assert outcome_hash(one, "/w/one") == outcome_hash(other, "/w/two")


FACTS = {
    "failing tests": ("3 failed, 1 passed", "2 failed, 2 passed"),
    "expected values": ("expected 3 got 4", "expected 3 got 5"),
    "file": ("src/a.py:1: E501", "src/b.py:1: E501"),
    "rule": ("a.py:1: E501", "a.py:1: E502"),
    "test": ("FAILED t.py::test_a", "FAILED t.py::test_b"),
    "exit code": ("[exit code 1]", "[exit code 2]"),
    "percentage": ("45 % done", "46 % done"),
    "counter behind a temporary path": ('{"in":"/tmp/a","failed":3}', '{"in":"/tmp/b","failed":2}'),
    "word": ("echo one", "echo two"),
    "long number": ("total 123456789", "total 123456788"),
    "tail of a long text": ("x" * 20_000 + " 1 failed", "x" * 20_000 + " 2 failed"),
}


@pytest.mark.parametrize("name", FACTS)
def test_a_changed_fact_changes_the_outcome(name: str) -> None:
    """A counter that changes is news, also behind 20,000 characters."""
    one, other = FACTS[name]
    assert outcome_hash(one) != outcome_hash(other)


def test_an_outcome_hash_is_16_hex_digits_of_any_text() -> None:
    """The outcome hash, also of text that is no valid Unicode."""
    for text in ("", "ä", "\ud800", "\x00"):
        assert len(outcome_hash(text)) == 16
        int(outcome_hash(text), 16)


def test_a_fingerprint_text_is_cut_after_normalising() -> None:
    """The cut comes last, so that noise in front moves nothing out of it."""
    long = f"E {TMP}" + "x" * 500 + " assert a == b " + "y" * 500
    assert len(fingerprint_text(long)) == FINGERPRINT_CHARS
    assert "assert a == b" in fingerprint_text(long)


def test_a_root_is_replaced_only_where_its_name_ends() -> None:
    """`/w/one` is not a part of `/w/one-more`."""
    assert normalise("/w/one/a /w/one /w/one-more/a", "/w/one/") == "<WS>/a <WS> /w/one-more/a"
    assert normalise("/a/b", "/") == "/a/b"


@given(st.text(max_size=400), st.sampled_from(["", "/w", "/"]))
def test_normalising_twice_changes_nothing_more(text: str, root: str) -> None:
    """Any text can be normalised, and white space is collapsed in it."""
    once = normalise(text, root)
    assert once == " ".join(once.split())
    assert normalise(text, root) == once


PATTERNS = [
    "1",
    "1m",
    "a1",
    TMP,
    "1.2",
    "1:",
    ".a",
    "\x1b[",
    "\x1b[0",
    "pid ",
    "1h 1m ",
    "1234-",
    "0x",
    "host:",
    "::",
]


@pytest.mark.parametrize("piece", PATTERNS)
def test_no_input_is_catastrophic(piece: str) -> None:
    """Hostile output: a text made of what a rule begins with is normalised in one go (the test's timeout bounds it)."""
    for _ in range(5):
        assert outcome_hash(piece * (65_536 // len(piece)) + "!")
