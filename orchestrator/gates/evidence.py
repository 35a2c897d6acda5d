"""Whether what QC cites is so: evidence as it can be read from an answer, and held against what is really there.

A model that passes work for reasons that are not there has not looked. So a command that it cites is run again, and
lines are looked up; what does not hold is QC's failure and not the work's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.domain.ansi import plain
from orchestrator.domain.attempt import Check
from orchestrator.domain.review import Proof, ProofKind
from orchestrator.gates.checks import runs_no_test

_KINDS: Mapping[str, ProofKind] = {"command": "command", "lines": "lines", "text": "text"}
_NUMBERED = re.compile(r"^\d+\t", re.MULTILINE)  # as read_file shows a line
_MOST_LINES = 1_000_000_000


def read_proof(value: object) -> Proof | None:
    """The evidence of a criterion as an answer holds it; None where there is none. What names a command, or a file
    with what stands in it, is that, whatever kind it says to be; everything else is text."""
    if isinstance(value, str):
        return Proof(kind="text", text=value.strip()) if value.strip() else None
    if not isinstance(value, Mapping):
        return None
    command, path, contains = (_text(value, name) for name in ("command", "path", "contains"))
    kind = _KINDS.get(_text(value, "kind"), "command" if command else "lines" if path else "text")
    if kind == "command" and command:
        return Proof(kind="command", command=command, exit_code=_number(value, "exit_code"), contains=contains)
    if kind == "lines" and path and contains:
        first = _number(value, "first")
        last = max(_number(value, "last"), first)
        return Proof(kind="lines", path=path, first=first, last=last, contains=contains)
    text = _text(value, "text") or ("" if kind == "command" else contains)
    return Proof(kind="text", text=text) if text else None


def against_command(proof: Proof, check: Check, *, always_succeeds: bool) -> str:
    """Why a command does not show what it is cited for, as it ended when it was run again; empty where it does. One
    that `always_succeeds` shows nothing by its exit code, nor by what it was told to print."""
    if check.exit_code is None:
        return "it gave no answer when it was run again"
    if check.exit_code != proof.exit_code:
        return f"it ended with {check.exit_code} when it was run again, not with {proof.exit_code}"
    if runs_no_test(check.output):
        return "it runs no test"
    if proof.contains and not _within(proof.contains, plain(check.output)):
        return f"it did not print {_shown(proof.contains)} when it was run again"
    if always_succeeds and (not proof.contains or _within(proof.contains, proof.command)):
        return "it succeeds whatever the work is"
    return ""


def against_lines(proof: Proof, content: bytes | None) -> str:
    """Why a file's lines do not show what they are cited for; empty where they do. `content` is None where there is no
    such file."""
    if content is None:
        return f"there is no file {_shown(proof.path)}"
    lines = content.decode("utf-8", "replace").splitlines()
    if not 1 <= proof.first <= len(lines):
        return f"{proof.path} has {len(lines)} lines, and no line {proof.first}"
    if _within(proof.contains, "\n".join(lines[proof.first - 1 : proof.last])):
        return ""
    return f"{_shown(proof.contains)} does not stand in lines {proof.first} to {proof.last} of {proof.path}"


def _within(part: str, whole: str) -> bool:
    """Whether a text holds another, whatever white space is between their words."""
    return _words(_NUMBERED.sub("", part)) in _words(whole)


def _words(text: str) -> str:
    return " ".join(text.split())


def _shown(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:199]}…")


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    return value.strip() if isinstance(value, str) else ""


def _number(entry: Mapping[str, Any], name: str) -> int:
    """A whole number; 0 for anything else, and for one that no file or program has."""
    value = entry.get(name)
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MOST_LINES
    return int(value) if whole and isinstance(value, int) else 0
