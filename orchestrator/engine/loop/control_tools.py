"""The control tools of a worker that do not end its attempt: report_progress, request_budget, request_scope.

They are free of the budget, never cached, and recorded as Checkpoint and BudgetRequest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.config.settings import ScopeGrants
from orchestrator.domain.assignment import GrantRequest
from orchestrator.domain.events import BudgetDecided, Event, ProgressReported, ScopeDecided
from orchestrator.domain.finding import Finding, findings_hash
from orchestrator.domain.globs import matches_any
from orchestrator.domain.model_io import ToolCall, ToolResult
from orchestrator.domain.ports import Clock
from orchestrator.domain.task import Task
from orchestrator.engine.loop.journal import Journal
from orchestrator.planning.plan_file import repository_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The answer to a GrantRequest; `amount` is 0 and `paths` empty when it is refused."""

    granted: bool
    amount: int = 0
    paths: tuple[str, ...] = ()
    reason: str
    decided_by: str


def refused_grant(reason: str, decided_by: str) -> Grant:
    """No."""
    return Grant(granted=False, reason=reason, decided_by=decided_by)


GrantPolicy = Callable[[GrantRequest], Grant]


@dataclass(kw_only=True)
class WorkerControls:
    """One attempt's control tools. At most one grant of each kind, calls at most half the original budget; what the
    attempts that it continues were granted (`inherited`) counts, so that a crash gives no second grant."""

    task: Task
    findings: tuple[Finding, ...]
    policy: GrantPolicy
    clock: Clock
    changed: Callable[[str], tuple[str, ...]]
    """The paths that differ between the attempt's base and a tree."""
    scope_grants: ScopeGrants = "files"
    inherited: Sequence[Event] = ()
    granted_paths: tuple[str, ...] = ()
    _granted: set[str] = field(default_factory=set)

    def apply(self, call: ToolCall, journal: Journal, tree: str, recent_calls: tuple[str, ...]) -> ToolResult:
        """Record what the worker says or asks, and answer it."""
        if call.tool == "report_progress":
            return self._report(call, journal, tree)
        journal.flush()  # the question is durable before anybody is asked
        request = self._request(call, journal, tree, recent_calls)
        grant = self._decide(request)
        if grant.granted:
            self._granted.add(request.kind)
            self.granted_paths += grant.paths
        journal.append(self._decided(request, grant, call.seq, journal))
        return ToolResult.said(_answer(request, grant))

    def _report(self, call: ToolCall, journal: Journal, tree: str) -> ToolResult:
        event = ProgressReported(
            seq=journal.next_seq(),
            at=self.clock.now(),
            call_seq=call.seq,
            at_tool_call=journal.guard_set.calls_executed,
            description=str(call.arguments["description"]),
            tree_after=tree,
            findings_hash=findings_hash(self.findings),
        )
        journal.append(event)
        return ToolResult.said("Noted.")

    def _request(self, call: ToolCall, journal: Journal, tree: str, recent_calls: tuple[str, ...]) -> GrantRequest:
        kind: Literal["calls", "scope"] = "calls" if call.tool == "request_budget" else "scope"
        return GrantRequest(
            kind=kind,
            task=self.task,
            justification=str(call.arguments.get("justification", "")),
            additional=int(call.arguments.get("additional", 0)),
            paths=tuple(call.arguments.get("paths", ())),
            calls_used=journal.guard_set.calls_executed,
            budget=journal.guard_set.budget,
            files_changed=self.changed(tree),
            recent_calls=recent_calls,
            most=self.task.most_granted_calls,
        )

    def _decide(self, request: GrantRequest) -> Grant:
        if request.kind in self._granted or any(_is_grant(event, request.kind) for event in self.inherited):
            return refused_grant("Only one grant of each kind an attempt.", "rule")
        if request.kind == "scope" and (rule := _ruled_out(request.paths, self.scope_grants)):
            return refused_grant(rule, "rule")
        answer = self.policy(request)
        if not answer.granted:
            return refused_grant(answer.reason, answer.decided_by)
        amount = min(answer.amount, request.most, request.additional) if request.kind == "calls" else 0
        paths = within(answer.paths, request.paths) if request.kind == "scope" else ()
        if self.scope_grants == "files":
            paths = tuple(path for path in paths if _is_single(path))
        if amount <= 0 and not paths:
            return refused_grant(
                f"The answer granted nothing of what was asked. {answer.reason}".strip(), answer.decided_by
            )
        return Grant(granted=True, amount=amount, paths=paths, reason=answer.reason, decided_by=answer.decided_by)

    def _decided(self, request: GrantRequest, grant: Grant, seq: int, journal: Journal) -> Event:
        if request.kind == "calls":
            return BudgetDecided(
                seq=journal.next_seq(),
                at=self.clock.now(),
                call_seq=seq,
                additional=request.additional,
                justification=request.justification,
                granted=grant.granted,
                granted_calls=grant.amount,
                decided_by=grant.decided_by,
                reason=grant.reason,
            )
        return ScopeDecided(
            seq=journal.next_seq(),
            at=self.clock.now(),
            call_seq=seq,
            paths=grant.paths if grant.granted else request.paths,
            justification=request.justification,
            granted=grant.granted,
            decided_by=grant.decided_by,
            reason=grant.reason,
        )


def _is_grant(event: Event, kind: str) -> bool:
    decided = BudgetDecided if kind == "calls" else ScopeDecided
    return isinstance(event, decided) and event.granted


def within(granted: Iterable[str], asked: tuple[str, ...]) -> tuple[str, ...]:
    """Of the granted paths those that were asked for, word by word, or as a single path that an asked one covers: a
    model's answer never opens more than the question."""
    return tuple(dict.fromkeys(path for path in granted if _is_path(path) and _covered(path, asked)))


def _ruled_out(asked: tuple[str, ...], grants: ScopeGrants) -> str:
    """Why no model is asked: one that plays both roles would open the repository to itself."""
    if grants == "none":
        return "No further paths are granted in this run (run.scope_grants)."
    if grants == "files" and not any(map(_is_single, asked)):
        return "Only single files are granted (run.scope_grants). Ask for them by name, without patterns."
    return ""


def _is_single(path: str) -> bool:
    return not any(char in "*?[\\+" for char in path) and not path.endswith("/")


def _covered(path: str, asked: tuple[str, ...]) -> bool:
    wild = any(char in "*?[\\" for char in path)
    return path in asked or (not wild and not path.endswith("/") and matches_any(path, asked))


def _is_path(path: str) -> bool:
    try:
        return bool(repository_path(path))
    except ValueError:
        return False


def _answer(request: GrantRequest, grant: Grant) -> str:
    if not grant.granted:
        return f"Refused: {grant.reason}"
    what = f"{grant.amount} more tool calls" if request.kind == "calls" else f"you may change {', '.join(grant.paths)}"
    return f"Granted: {what}. {grant.reason}"
