"""Thrash: one file whose new lines are rewritten over and over, or that goes back and forth."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter

from orchestrator.domain.events import Event, FileWrite, ToolFinished
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Allow, Verdict, Warn
from orchestrator.guards.guard import MOST, called
from orchestrator.guards.limits import GuardLimits

_RULE = Rule("thrash", "thrashing")
_STEPS = 32

Step = tuple[str, str]
"""From which content to which, as blob ids."""


@dataclass(frozen=True, slots=True)
class FileHistory:
    """One file's substantive writes, and how many of them took away lines that this attempt had put into it
    (`rewrites`). `steps` are the last ones, newest last; `returns` counts those that were made before."""

    writes: int = 0
    rewrites: int = 0
    returns: int = 0
    content: str = ""
    steps: tuple[Step, ...] = ()

    def add(self, write: FileWrite) -> FileHistory:
        """The history with one more write. A file that comes or goes takes no step: scratch files are written, run and
        deleted."""
        step = (write.before or self.content, write.blob)
        again = all(step) and step in self.steps and any(write.blob == old for old, _ in self.steps)
        return FileHistory(
            writes=self.writes + 1,
            rewrites=self.rewrites + (write.rewritten > 0),
            returns=self.returns + again,
            content=write.blob,
            steps=(*(old for old in self.steps if old != step), step)[-_STEPS:],
        )


@dataclass(frozen=True, slots=True)
class ThrashGuard:
    """Histories of the files written last, by path. Writing is work, also twenty hunks into one file; rewriting what
    was just written is what counts, and making a step (from one content to another) that was made before: a debug print
    that is put in and taken out is none. What changed white space alone, or nothing, does not count; what a command
    changed does."""

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
        if not isinstance(worst, Allow):
            worst = replace(worst, evidence={**worst.evidence, **called(event.call)})
        return ThrashGuard(self.limits, files), worst

    def _add(self, files: dict[str, FileHistory], write: FileWrite) -> Verdict:
        path = posixpath.normpath(write.path)
        history = files.pop(path, None) or FileHistory(content=write.before)
        if not write.substantive or (history.writes and history.content == write.blob):
            files[path] = history
            return ALLOW
        files[path] = after = history.add(write)
        return self._judge(path, history, after)

    def _judge(self, path: str, before: FileHistory, after: FileHistory) -> Verdict:
        limits = self.limits
        back, rewrote = after.returns > before.returns, after.rewrites > before.rewrites
        if back and after.returns >= limits.revert_stop:
            return _RULE.stop(after.returns, limits.revert_stop, {"file": path, "rule": "back at an earlier content"})
        if rewrote and after.rewrites >= limits.thrash_stop:
            return _RULE.stop(after.rewrites, limits.thrash_stop, {"file": path, "rule": "rewrote its own lines"})
        if after.writes >= limits.writes_stop:
            return _RULE.stop(after.writes, limits.writes_stop, {"file": path, "rule": "substantive writes"})
        if back and after.returns == limits.revert_warn:
            return self._warn(path, "is back at an earlier content for the", after.returns, limits.revert_stop)
        if rewrote and after.rewrites == limits.thrash_warn:
            return self._warn(path, "had lines of yours rewritten for the", after.rewrites, limits.thrash_stop)
        return ALLOW

    def _warn(self, path: str, what: str, count: int, limit: int) -> Warn:
        message = (
            f"{path} {what} {count}th time; at {limit} the attempt is stopped. Decide what it must hold, then write it."
        )
        return _RULE.warn(message, count, limit, {"file": path})
