"""The failures of one check, counted: however many there are and in whatever order they come, the outcome is the same
and small."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator

from orchestrator.domain.failure import Failure, ShownFailure
from orchestrator.domain.normalise import fingerprint_text
from orchestrator.gates.parsers.told import Told

MOST_FAILURES = 2_000
"""Failures of one check that are told apart. The others are one more, known by a digest of all of them."""
MOST_READ = 50_000
"""Failures that are looked at. Of an output that shows more only their number is told."""

REST = "further failures "
"""How the signature of those others begins."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")
_DIGEST = 2**64


class Tally:
    """Counts what fails. The failures that are told apart are the first ones by place and name, so that the order in
    which they come makes no difference."""

    def __init__(self, command: str, root: str) -> None:
        self._command = command
        self._root = root
        self._known: dict[tuple[str, ...], Failure] = {}
        self._shown: dict[str, ShownFailure] = {}
        self._read = self._others = self._digest = 0

    def add(self, told: Told) -> None:
        """One more failure."""
        self._read += 1
        if self._read > MOST_READ:
            self._others += 1
            return
        failure = self._failure(told)
        before = self._shown.get(failure.fingerprint)
        count, excerpt = (before.count, before.excerpt) if before else (0, told.excerpt)
        self._shown[failure.fingerprint] = ShownFailure(failure, count + 1, excerpt)
        if len(self._shown) > 2 * MOST_FAILURES:
            self._leave_out()

    def shown(self) -> Iterator[ShownFailure]:
        """The failures, by place and name."""
        self._leave_out()
        yield from sorted(self._shown.values(), key=_place)
        if self._others:
            signature = f"{REST}{self._digest:016x}"
            yield ShownFailure(Failure.of(self._command, signature=signature), self._others)

    def _leave_out(self) -> None:
        for shown in sorted(self._shown.values(), key=_place)[MOST_FAILURES:]:
            del self._shown[shown.failure.fingerprint]
            self._others += shown.count
            self._digest = (self._digest + shown.count * _number(shown.failure)) % _DIGEST

    def _failure(self, told: Told) -> Failure:
        raw = (told.package, told.name, told.locus, told.error)
        if raw not in self._known:
            if len(self._known) > 4 * MOST_FAILURES:
                self._known.clear()
            self._known[raw] = failure_of(self._command, told, self._root)
        return self._known[raw]


def failure_of(command: str, told: Told, root: str) -> Failure:
    """What can be known again of what a tool told: its names as they are, its path from the top level, its error
    without noise."""
    return Failure.of(
        command,
        package=told.package,
        test_name=test_name(told.name, root),
        locus=_relative(told.locus, root),
        signature=fingerprint_text(told.error, root),
    )


def test_name(name: str, root: str) -> str:
    """A test's name as it is in every run: a path in it from the top level, an object without its address."""
    inside = f"{root.rstrip('/')}/" if root else ""
    name = name.removeprefix(inside) if inside else name
    return _ADDRESS.sub(" at <ADDR>", name) if " at 0x" in name else name


def _relative(path: str, root: str) -> str:
    """The path from the top level; empty for one that is elsewhere, since it says nothing about the work."""
    if root and path.startswith(f"{root.rstrip('/')}/"):
        path = path[len(root.rstrip("/")) + 1 :]
    path = posixpath.normpath(path) if path else ""
    return "" if path.startswith(("/", "../")) else path


def _place(shown: ShownFailure) -> tuple[str, ...]:
    failure = shown.failure
    return failure.locus, failure.package, failure.test_name, failure.signature


def _number(failure: Failure) -> int:
    return int(hashlib.sha256(failure.fingerprint.encode()).hexdigest()[:16], 16)
