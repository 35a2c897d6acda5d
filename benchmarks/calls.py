"""Calls of made-up runs, for the benchmark's kinds of spirals and of honest work: all facts of a trace told."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from orchestrator.domain.normalise import outcome_hash, shape_hash
from orchestrator.replay.traces import TraceCall

Round = Callable[[int], list[TraceCall]]
"""The calls of a kind's n-th round, from 0."""


def made(name: str, text: str, *, ok: bool = True, turn: int | None = None, **arguments: object) -> TraceCall:
    """One call with its result's text."""
    return TraceCall(
        name=name,
        arguments=arguments,
        ok=ok,
        result_sha=outcome_hash(text),
        shape_sha=shape_hash(text),
        result_chars=len(text),
        says=bool(text.strip()),
        error_sha=None if ok else outcome_hash(text or str(arguments)),
        turn=turn,
    )


def run(command: str, text: str = "", *, ok: bool = True, turn: int | None = None) -> TraceCall:
    """A command."""
    return made("run_command", text, ok=ok, turn=turn, command=command)


def fails(command: str, text: str) -> TraceCall:
    """A command that fails."""
    return run(command, text, ok=False)


def read(path: str, text: str = "", *, start: int = 1, turn: int | None = None) -> TraceCall:
    """A part of a file."""
    return made("read_file", text or f"content of {path}", path=path, view_range=[start, start + 99], turn=turn)


def edit(path: str, old: str, new: str) -> TraceCall:
    """One replacement in a file."""
    return made("edit_file", f"Edited {path}.", path=path, old_str=old, new_str=new)


def write(path: str, text: str) -> TraceCall:
    """A whole file."""
    return made("write_file", f"Wrote {path}.", path=path, file_text=text)


def search(pattern: str, text: str) -> TraceCall:
    """A search."""
    return made("search", text, pattern=pattern)


def rounds(each: Round, most: int) -> list[TraceCall]:
    """The first calls of round after round."""
    return list(islice((call for n in range(most) for call in each(n)), most))


def word(number: int) -> str:
    """A word without a figure, another one for each number: what is new by its words is new to every rule."""
    letters, number = "x" * (number < 0), abs(number)
    while True:
        letters += "bcdfghjklm"[number % 10] + "aeiou"[number % 5]
        number //= 10
        if not number:
            return letters
