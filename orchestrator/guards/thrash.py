"""Thrash: one file written over and over, or taken back to what it was."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from orchestrator.domain.events import Event, FileWrite, ToolFinished
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Verdict, Warn
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.recent import MOST

_RULE = Rule("thrash", "thrashing")
_CONTENTS = 32


@dataclass(frozen=True, slots=True)
class FileHistory:
    """One file's substantive writes. `contents` are the last blob ids, newest last, and begin with the one before the
    first write; `shrinking` diffs in a row got smaller."""

    writes: int = 0
    returns: int = 0
    contents: tuple[str, ...] = ()
    size: int = 0
    shrinking: int = 0

    @classmethod
    def begin(cls, write: FileWrite) -> FileHistory:
        """Before the file's first write; a new file has no earlier content."""
        return cls(contents=(write.before,) if write.before else ())

    def add(self, write: FileWrite, counted_from: int) -> FileHistory:
        """The history with one more write. A deletion is no earlier content: scratch files come and go."""
        back = write.blob != "" and write.blob in self.contents
        size = write.added + write.removed
        smaller = self.writes >= counted_from and size < self.size
        return FileHistory(
            writes=self.writes + 1,
            returns=self.returns + back,
            contents=(*(c for c in self.contents if c != write.blob), write.blob)[-_CONTENTS:],
            size=size,
            shrinking=self.shrinking + 1 if smaller else 1,
        )


@dataclass(frozen=True, slots=True)
class ThrashGuard:
    """Histories of the files written last, by path. What changed white space alone, or nothing, does not count; what a
    command changed does."""

    limits: GuardLimits
    files: Mapping[str, FileHistory] = field(default_factory=dict)

    def observe(self, event: Event) -> tuple[ThrashGuard, Verdict]:
        """Add what a finished call wrote."""
        if not isinstance(event, ToolFinished) or not event.writes:
            return self, ALLOW
        files = dict(self.files)
        worst: Verdict = ALLOW
        for write in event.writes[-MOST:]:
            worst = max(worst, self._add(files, write), key=attrgetter("rank"))
        while len(files) > MOST:
            del files[next(iter(files))]
        return ThrashGuard(self.limits, files), worst

    def _add(self, files: dict[str, FileHistory], write: FileWrite) -> Verdict:
        path = posixpath.normpath(write.path)
        history = files.pop(path, None) or FileHistory.begin(write)
        if not write.substantive or history.contents[-1:] == (write.blob,):
            files[path] = history
            return ALLOW
        files[path] = after = history.add(write, self.limits.thrash_warn)
        return self._judge(path, history, after)

    def _judge(self, path: str, before: FileHistory, after: FileHistory) -> Verdict:
        limits, back = self.limits, after.returns > before.returns
        if back and after.returns >= limits.revert_stop:
            return _RULE.stop(after.returns, limits.revert_stop, {"file": path, "rule": "back at an earlier content"})
        if after.writes >= limits.thrash_stop:
            return _RULE.stop(after.writes, limits.thrash_stop, {"file": path, "rule": "substantive writes"})
        if after.shrinking >= limits.shrinking_diffs:
            return _RULE.stop(after.shrinking, limits.shrinking_diffs, {"file": path, "rule": "ever smaller diffs"})
        if back and after.returns == limits.revert_warn:
            return self._warn(path, "is back at an earlier content for the", after.returns, limits.revert_stop)
        if after.writes == limits.thrash_warn:
            return self._warn(path, "was rewritten for the", after.writes, limits.thrash_stop)
        return ALLOW

    def _warn(self, path: str, what: str, count: int, limit: int) -> Warn:
        message = (
            f"{path} {what} {count}th time; at {limit} the attempt is stopped. Decide what it must hold, then write it."
        )
        return _RULE.warn(message, count, limit, {"file": path})
