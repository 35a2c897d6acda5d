"""Duplicates: which earlier call's result answers a call, and which failing call is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.domain.events import (
    BudgetDecided,
    Event,
    ReplyReceived,
    Resumed,
    ScopeDecided,
    ToolFinished,
    ToolRequested,
)
from orchestrator.domain.evolve import evolve
from orchestrator.domain.model_io import ToolCall
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Refuse, Verdict
from orchestrator.guards.guard import forget, remember
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.tree import TreeState

_RULE = Rule("duplicates", "repeated_failure")
_CHANGE = "Change something, or make a different call."
_FINISH = "Unless another call brings something new, your next turn has its tools withheld: finish then, or give up."

Until = Literal["change", "write", "failure", "grant", "reply"]
"""How long a call's answer holds within its reply: a read's until anything runs that may change something, a command's
until a file is written, a repeated failure's until the failure is forgotten, another refusal's until something is
granted, and what nothing else can change (defects, control tools) to the end of the reply."""

Known = tuple[int, Until]
"""A call's seq, and how long it answers an identical one."""


@dataclass(frozen=True)
class Duplicates:
    """`batch`: calls of this reply, each answered once, whatever came of it. `results`: pure calls that succeeded, with
    nothing run since that may have changed something; a tree does not see ignored files, so a command counts whatever
    the tree says. `failures`: calls that fail with the same error over unchanged files, with that error and how often.
    """

    limits: GuardLimits
    batch: Mapping[str, Known] = field(default_factory=dict)
    results: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    tree: TreeState = field(default_factory=TreeState)

    def earlier(self, call: ToolCall) -> int | None:
        """The seq of the call whose result answers this one, or None when it must be executed."""
        known = self.batch.get(call.signature)
        if known is not None:
            return known[0]
        return self.results.get(call.signature) if call.pure else None

    def refusal(self, call: ToolCall, *, forcing: bool = False) -> Refuse | None:
        """The refusal of a call that failed too often, unless something changed since. `forcing`: the next turn is to
        have its tools withheld, and then the advice is no other call."""
        error, count = self.failures.get(call.signature, ("", 0))
        if count < self.limits.repeated_failures:
            return None
        message = (
            f"Refused: this same {call.tool} call has failed {count} times with the same error and no file changed "
            f"since. {_FINISH if forcing else _CHANGE}"
        )
        return _RULE.refuse(message, count + 1, self.limits.repeated_failures, {"tool": call.tool, "error": error})

    def judge(self, event: Event, *, forcing: bool = False) -> Verdict:
        """What to say to a call before it runs."""
        if not isinstance(event, ToolRequested) or event.duplicate_of is not None or not self.failures:
            return ALLOW
        return self.refusal(event.call, forcing=forcing) or ALLOW

    def observe(self, event: Event) -> Duplicates:
        """Learn from the event."""
        if isinstance(event, ToolFinished):
            return self._finished(event)
        if isinstance(event, ToolRequested):
            return self._requested(event)
        if isinstance(event, ReplyReceived):
            return evolve(self, batch={}) if self.batch else self
        if isinstance(event, Resumed):
            return Duplicates(self.limits)  # what was in doubt may have changed anything
        if isinstance(event, BudgetDecided | ScopeDecided) and event.granted:
            return evolve(self, batch={s: known for s, known in self.batch.items() if known[1] != "grant"})
        return self

    def _requested(self, event: ToolRequested) -> Duplicates:
        if event.duplicate_of is not None:
            return self
        call = event.call
        until: Until = "reply" if call.control or call.defect is not None else "change" if call.pure else "write"
        return self._know(event, until)

    def _know(self, event: ToolRequested | ToolFinished, until: Until) -> Duplicates:
        return evolve(self, batch=remember(self.batch, event.call.signature, (event.seq, until)))

    def _finished(self, event: ToolFinished) -> Duplicates:
        if event.status == "refused":
            return self._know(event, "failure" if self.refusal(event.call) else "grant")
        if event.status == "duplicate" or event.result.error_kind == "malformed":
            return self
        if event.call.pure:
            return self._read(event)
        return self if event.call.control else self._changed(event)

    def _read(self, event: ToolFinished) -> Duplicates:
        if event.status != "ok":
            return evolve(self, failures=self._failed(event))
        signature = event.call.signature
        return evolve(
            self, results=remember(self.results, signature, event.seq), failures=forget(self.failures, signature)
        )

    def _changed(self, event: ToolFinished) -> Duplicates:
        """What may have changed makes the reads of this reply new, a write its commands too."""
        signature, tree = event.call.signature, self.tree.after(event)
        failures = self.failures
        if event.status == "ok":
            failures = forget(failures, signature) if tree.id == self.tree.id else {}
        elif event.status == "error":
            failures = self._failed(event)
        over = {"change", "write"} if event.call.writes_to else {"change"}
        batch = {
            s: known
            for s, known in self.batch.items()
            if s == signature or not (known[1] in over or (known[1] == "failure" and s not in failures))
        }
        return evolve(self, batch=batch, results={}, failures=failures, tree=tree)

    def _failed(self, event: ToolFinished) -> Mapping[str, tuple[str, int]]:
        """A failure with another error is news: polling for something to come up is no repetition."""
        if event.result.error_kind == "infrastructure":
            return self.failures
        signature, brought = event.call.signature, event.result.error_hash or event.result.outcome_hash
        error, count = self.failures.get(signature, ("", 0))
        return remember(self.failures, signature, (brought, count + 1 if brought == error else 1))
