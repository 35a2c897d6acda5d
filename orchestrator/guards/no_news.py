"""No news: one question after the other, and the answers are those that were given before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.domain.events import Event, ReplyReceived, ToolFinished
from orchestrator.domain.evolve import evolve
from orchestrator.domain.model_io import ToolCall
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Evidence, Verdict
from orchestrator.guards.guard import called, remember
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.tree import TreeState

_RULE = Rule("no_news", "loop_detected")


@dataclass(frozen=True)
class NoNewsGuard:
    """Over one tree: `stale` tells of the last replies whose calls said something and wrote nothing, newest last,
    whether they brought only outcomes that were `seen` before. So it does not matter in how many words the same is
    asked. The calls of one reply count as one, because they were asked before any was answered; `news` is whether the
    newest reply's have brought any so far (None: they said nothing). A change of files makes everything worth asking
    again. Control tools, malformed calls and infrastructure errors say nothing of the workspace, and an outcome without
    text says nothing at all: a command that prints nothing is no old answer. `newest` is the call heard last."""

    limits: GuardLimits
    seen: Mapping[str, None] = field(default_factory=dict)
    stale: tuple[bool, ...] = ()
    news: bool | None = None
    newest: ToolCall | None = None
    told: bool = False
    tree: TreeState = field(default_factory=TreeState)

    def observe(self, event: Event) -> tuple[NoNewsGuard, Verdict]:
        """Add what a finished call brought; judge the reply before when the next one is there."""
        if isinstance(event, ReplyReceived):
            return (self, ALLOW) if self.news is None else self._replied()
        return (self._finished(event) if isinstance(event, ToolFinished) else self), ALLOW

    def _finished(self, event: ToolFinished) -> NoNewsGuard:
        tree = self.tree.after(event)
        if tree.id != self.tree.id or event.writes:
            return NoNewsGuard(self.limits, tree=tree)
        here = self if tree is self.tree else evolve(self, tree=tree)
        result = event.result
        if event.call.control or result.error_kind in ("malformed", "infrastructure") or not result.says:
            return here
        news = bool(self.news) or result.outcome_hash not in self.seen
        return evolve(here, seen=remember(self.seen, result.outcome_hash, None), news=news, newest=event.call)

    def _replied(self) -> tuple[NoNewsGuard, Verdict]:
        limits = self.limits
        stale = (*self.stale, not self.news)[-max(limits.no_news_window, limits.no_news_warn_window) :]
        after = evolve(self, stale=stale, news=None)
        count, early = sum(stale[-limits.no_news_window :]), sum(stale[-limits.no_news_warn_window :])
        if max(count - limits.no_news_stop, early - limits.no_news_warn) < 0:
            return after, ALLOW
        evidence: Evidence = {
            "of the last": limits.no_news_window,
            "rule": "nothing that was not seen before",
            **(called(self.newest) if self.newest else {}),
        }
        if count >= limits.no_news_stop:
            return after, _RULE.stop(count, limits.no_news_stop, evidence)
        if early < limits.no_news_warn or self.told:
            return after, ALLOW
        message = (
            f"{early} of your last {limits.no_news_warn_window} turns brought only what you had seen, and no file has "
            f"changed; at {limits.no_news_stop} of {limits.no_news_window} the attempt is stopped. Asking in other "
            "words brings no other answer: use what you know, or change something."
        )
        return evolve(after, told=True), _RULE.warn(message, early, limits.no_news_warn, evidence)
