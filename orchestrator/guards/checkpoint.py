"""Checkpoint: progress must be reported, and be progress."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.domain.events import BudgetDecided, Event, ProgressReported, ToolFinished, ToolRequested
from orchestrator.domain.evolve import evolve
from orchestrator.domain.normalise import outcome_hash
from orchestrator.domain.rule import Rule
from orchestrator.domain.tools import executed
from orchestrator.domain.verdict import ALLOW, Verdict
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.tree import TreeState

_RULE = Rule("checkpoint", "no_progress")
_TEXTS = 32


@dataclass(frozen=True)
class CheckpointGuard:
    """`calls` executed since the last progress, `reported` of them before the last report. A report is progress when
    its text is new and the tree or the open findings changed since the report before. The first is compared with the
    attempt's beginning, whose tree is known as far as calls have shown one (`tree`) and whose findings are those of the
    report: so reading alone is no progress, and a worker that has written nothing has until `progress_stop`. It stops
    before a further call is executed, so that finishing or reporting is still possible, and leaves a call beyond the
    budget (`left` calls) to that guard."""

    limits: GuardLimits
    left: int
    calls: int = 0
    reported: int = 0
    texts: tuple[str, ...] = ()
    seen: tuple[str, str] | None = None
    tree: TreeState = field(default_factory=TreeState)
    told: bool = False

    @property
    def due(self) -> bool:
        """Whether a report should be asked for with the next notices."""
        return self.calls - self.reported >= self.limits.progress_every

    def observe(self, event: Event) -> tuple[CheckpointGuard, Verdict]:
        """Count executed calls; judge reports by the facts beside them."""
        if isinstance(event, ToolFinished) and executed(event.call, event.status):
            tree = self.tree.after(event)
            return evolve(self, calls=self.calls + 1, left=self.left - 1, tree=tree)._warn()
        if isinstance(event, ToolRequested):
            return self, self._judge(event)
        if isinstance(event, ProgressReported):
            return self._reported(event)
        if isinstance(event, BudgetDecided) and event.granted:
            return evolve(self, left=self.left + event.granted_calls), ALLOW
        return self, ALLOW

    def _judge(self, event: ToolRequested) -> Verdict:
        if self.calls < self.limits.progress_stop or self.left <= 0:
            return ALLOW
        call = event.call
        if call.control or call.defect is not None or event.duplicate_of is not None:
            return ALLOW
        return _RULE.stop(self.calls, self.limits.progress_stop)

    def _warn(self) -> tuple[CheckpointGuard, Verdict]:
        limits = self.limits
        if self.calls != limits.progress_warn:
            return self, ALLOW
        message = (
            f"{self.calls} tool calls without progress; at {limits.progress_stop} the attempt is stopped. "
            "Call report_progress and say what is done and what is left."
        )
        return self, _RULE.warn(message, self.calls, limits.progress_stop)

    def _reported(self, event: ProgressReported) -> tuple[CheckpointGuard, Verdict]:
        text, facts = outcome_hash(event.description), (event.tree_after, event.findings_hash)
        missing = self._missing(text, facts)
        after = evolve(self, texts=(*self.texts, text)[-_TEXTS:], seen=facts, reported=self.calls)
        if not missing:
            return evolve(after, calls=0, reported=0, told=False), ALLOW
        if self.told or not self.calls:
            return after, ALLOW
        message = (
            f"This report does not count as progress: {missing}. {self.calls} tool calls since the last progress; at "
            f"{self.limits.progress_stop} the attempt is stopped."
        )
        return evolve(after, told=True), _RULE.warn(message, self.calls, self.limits.progress_stop)

    def _missing(self, text: str, facts: tuple[str, str]) -> str:
        """What keeps a report from being progress, "" when nothing does."""
        if text in self.texts:
            return "its text was given before"
        if self.seen is None:
            begun = self.tree.start is None or facts[0] == self.tree.start
            return "no file changed since the attempt began" if begun else ""
        return "no file and no finding changed since the last one" if facts == self.seen else ""
