"""Same error: one tool failing in a row with the same normalised error, whatever its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.domain.events import Event, ReplyReceived, ToolFinished
from orchestrator.domain.evolve import evolve
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Evidence, Verdict
from orchestrator.guards.guard import called, remember
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.tree import TreeState

_RULE = Rule("same_error", "same_error")
_TOOLS = 32

Streak = tuple[str, int, int]
"""The error, how often in a row, and the reply in which it was last counted."""


@dataclass(frozen=True)
class SameErrorGuard:
    """Failures of a tool in a row with one error, whatever the arguments: a command that is worded differently each
    time and fails alike is the same failure. In a row: the tool did not succeed and no file changed in between. A
    change of files ends every streak, whoever made it, the failing call included: failing, repairing and failing again
    is work (edit, run the same tests, the same short "FAILED"; or both in one command), and a loop that writes is
    bounded by thrash and budget. Of one reply's calls one counts, because the worker has not seen the first error yet.
    An error text that says nothing by itself is made the call's own by whoever hashes it (agents/tools/shell.py)."""

    limits: GuardLimits
    streaks: Mapping[str, Streak] = field(default_factory=dict)
    reply: int = 0
    tree: TreeState = field(default_factory=TreeState)

    def observe(self, event: Event) -> tuple[SameErrorGuard, Verdict]:
        """Add a finished call; malformed calls and infrastructure errors have their own rules."""
        if isinstance(event, ReplyReceived):
            return evolve(self, reply=self.reply + 1), ALLOW
        if not isinstance(event, ToolFinished) or event.status not in ("ok", "error"):
            return self, ALLOW
        if event.status == "error":
            return self._failed(event)
        return self._succeeded(event), ALLOW

    def _succeeded(self, event: ToolFinished) -> SameErrorGuard:
        tree = self.tree.after(event)
        if tree.id != self.tree.id:
            return evolve(self, streaks={}, tree=tree)
        if event.call.tool not in self.streaks:
            return self if tree is self.tree else evolve(self, tree=tree)
        return evolve(self, streaks={t: s for t, s in self.streaks.items() if t != event.call.tool}, tree=tree)

    def _failed(self, event: ToolFinished) -> tuple[SameErrorGuard, Verdict]:
        tree = self.tree.after(event)
        here = self if tree.id == self.tree.id else evolve(self, streaks={})
        here = here if tree is self.tree else evolve(here, tree=tree)
        if event.result.error_kind != "tool" or not event.result.error_hash:
            return here, ALLOW
        error, count, reply = here.streaks.get(event.call.tool, ("", 0, -1))
        if error == event.result.error_hash and reply == self.reply and reply > 0:
            return here, ALLOW
        count = count + 1 if error == event.result.error_hash else 1
        streaks = remember(here.streaks, event.call.tool, (event.result.error_hash, count, self.reply), _TOOLS)
        return evolve(here, streaks=streaks), self._judge(event, count)

    def _judge(self, event: ToolFinished, count: int) -> Verdict:
        limits = self.limits
        if count < min(limits.same_error_warn, limits.same_error_stop):
            return ALLOW
        evidence: Evidence = {**called(event.call), "error": event.result.text[-160:].strip()}
        if count >= limits.same_error_stop:
            return _RULE.stop(count, limits.same_error_stop, evidence)
        if count != limits.same_error_warn:
            return ALLOW
        message = (
            f"{event.call.tool} has failed {count} times with the same error; at {limits.same_error_stop} the attempt "
            "is stopped. Find the error's cause before you call it again."
        )
        return _RULE.warn(message, count, limits.same_error_stop, evidence)
