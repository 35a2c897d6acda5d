"""Scope: a write tool outside the allowed paths is refused before it happens; the scope gate judges the rest."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.domain.events import Event, ScopeDecided, ToolRequested
from orchestrator.domain.evolve import evolve
from orchestrator.domain.globs import allows, paths_in_words
from orchestrator.domain.rule import Rule
from orchestrator.domain.verdict import ALLOW, Refuse, Verdict

_RULE = Rule("scope", "out_of_scope")


@dataclass(frozen=True)
class ScopeGuard:
    """`allowed` are the task's paths and what was granted since."""

    allowed: tuple[str, ...]

    def observe(self, event: Event) -> tuple[ScopeGuard, Verdict]:
        """Refuse a call that would write elsewhere; take grants in."""
        if isinstance(event, ScopeDecided):
            return (evolve(self, allowed=(*self.allowed, *event.paths)) if event.granted else self), ALLOW
        if not isinstance(event, ToolRequested) or not event.call.writes_to or event.call.defect is not None:
            return self, ALLOW
        stood = event.call.overwrites
        outside = [path for path in event.call.writes_to if not allows(path, self.allowed, existed=path in stood)]
        return self, self._refuse(outside) if outside else ALLOW

    def _refuse(self, outside: list[str]) -> Refuse:
        allowed = paths_in_words(self.allowed) or "nothing"
        message = (
            f"Refused: {', '.join(outside)} is outside the allowed paths ({allowed}). "
            "Write there, or ask with request_scope and say why."
        )
        return _RULE.refuse(message, len(outside), 0, {"paths": [*outside], "allowed": [*self.allowed]})
