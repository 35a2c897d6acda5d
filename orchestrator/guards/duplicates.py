"""Duplicates: which earlier call's result answers a call, and which failing call is refused (R1.1, R1.3, R1.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from orchestrator.domain.events import Event, ReplyReceived, RequestedCall, Resumed, ToolFinished, ToolRequested
from orchestrator.domain.verdict import ALLOW, Refuse, Verdict
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.recent import forget, remember
from orchestrator.guards.tree import Tree

NAME = "duplicates"
CODE = "repeated_failure"

Known = tuple[int, bool]
"""A call's seq, and whether it is pure."""


@dataclass(frozen=True, slots=True)
class Duplicates:
    """`batch`: calls of this reply, which are executed once. `results`: pure calls that succeeded, with nothing run
    since that may have changed something; a tree does not see ignored files, so a command counts whatever the tree
    says. `failures`: calls that fail with the same error over unchanged files, with that error and how often."""

    limits: GuardLimits
    batch: Mapping[str, Known] = field(default_factory=dict)
    results: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    tree: Tree = field(default_factory=Tree)

    @classmethod
    def begin(cls, limits: GuardLimits) -> Duplicates:
        """Before the first turn."""
        return cls(limits)

    def earlier(self, call: RequestedCall) -> int | None:
        """The seq of the call whose result answers this one, or None when it must be executed."""
        known = self.batch.get(call.signature)
        if known is not None:
            return known[0]
        return self.results.get(call.signature) if call.pure else None

    def refusal(self, call: RequestedCall) -> Refuse | None:
        """The refusal of a call that failed too often, unless something changed since."""
        error, count = self.failures.get(call.signature, ("", 0))
        if count < self.limits.repeated_failures:
            return None
        message = (
            f"Refused: this same {call.tool} call has failed {count} times with the same error and no file changed "
            "since. Change something, or make a different call."
        )
        return Refuse(
            NAME, CODE, message, count + 1, self.limits.repeated_failures, {"tool": call.tool, "error": error}
        )

    def judge(self, event: Event) -> Verdict:
        """What to say to a call before it runs."""
        if not isinstance(event, ToolRequested) or event.duplicate_of is not None or not self.failures:
            return ALLOW
        return self.refusal(event.call) or ALLOW

    def observe(self, event: Event) -> Duplicates:
        """Learn from the event."""
        if isinstance(event, ToolFinished):
            return self._finished(event)
        if isinstance(event, ToolRequested):
            return self._requested(event)
        if isinstance(event, ReplyReceived):
            return replace(self, batch={}) if self.batch else self
        if isinstance(event, Resumed):
            return Duplicates(self.limits)  # what was in doubt may have changed anything
        return self

    def _requested(self, event: ToolRequested) -> Duplicates:
        if event.duplicate_of is not None:
            return self
        return replace(self, batch=remember(self.batch, event.call.signature, (event.seq, event.call.pure)))

    def _finished(self, event: ToolFinished) -> Duplicates:
        if event.status == "refused":  # it has no result that could answer another: that one is judged itself
            return replace(self, batch=forget(self.batch, event.call.signature))
        if event.status == "duplicate" or event.error_kind == "malformed":
            return self
        if event.call.pure:
            return self._read(event)
        return self if event.call.control else self._changed(event)

    def _read(self, event: ToolFinished) -> Duplicates:
        if event.status != "ok":
            return replace(self, failures=self._failed(event))
        signature = event.call.signature
        return replace(
            self,
            results=remember(self.results, signature, event.seq),
            failures=forget(self.failures, signature),
        )

    def _changed(self, event: ToolFinished) -> Duplicates:
        """After a write nothing of this reply but itself is known any more, after a command no read is."""
        signature, tree = event.call.signature, self.tree.after(event)
        batch = {
            s: known for s, known in self.batch.items() if s == signature or not (known[1] or event.call.writes_to)
        }
        failures = self.failures
        if event.status == "ok":
            failures = forget(failures, signature) if tree.id == self.tree.id else {}
        elif event.status == "error":
            failures = self._failed(event)
        return replace(self, batch=batch, results={}, failures=failures, tree=tree)

    def _failed(self, event: ToolFinished) -> Mapping[str, tuple[str, int]]:
        """A failure with another error is news: polling for something to come up is no repetition."""
        if event.error_kind == "infrastructure":
            return self.failures
        signature, brought = event.call.signature, event.error_hash or event.outcome_hash
        error, count = self.failures.get(signature, ("", 0))
        return remember(self.failures, signature, (brought, count + 1 if brought == error else 1))
