"""Live and replay agree: every recorded attempt, folded again from the graph, gives the verdicts that were recorded."""

from __future__ import annotations

import json
import os
from datetime import datetime
from typing import Any

from orchestrator.app import App
from orchestrator.domain.events import GuardFired
from orchestrator.domain.verdict import Refuse, Stop, Warn
from orchestrator.guards.limits import GuardLimits
from orchestrator.replay.history import inherited_events
from orchestrator.replay.replay import disagreements
from orchestrator.store.embedded.server import embedded_status
from tests.stories.story import Story

_RECORDED = (
    "MATCH (a:Attempt) OPTIONAL MATCH (a)-[:TRIGGERED]->(g) WITH a, g ORDER BY g.seq "
    "RETURN a.id AS id, a.limitsJson AS limits, collect([g.seq, toString(g.at), g.atToolCall, g.guard, g.verdict, "
    "g.code, g.reason, g.observed, g.limit]) AS spoken"
)


def assert_replay_agrees(story: Story) -> int:
    """Compare what the guards said live in every attempt with what they say over its recorded events; how many
    attempts there were. Where no graph is up, there is nothing to compare."""
    if "NEO4J_URI" not in story.environ and not embedded_status(story.repository / ".git" / "orchestrate").running:
        return 0
    with App(story.repository, {**os.environ, **story.environ}, flags={}, on_wait=print) as app:
        rows = app.graph.query(_RECORDED, {}).rows
        return sum(_agrees(app, *row) for row in rows)


def _fired(seq: int, at: str, used: int, guard: str, kind: str, *said: Any) -> GuardFired:
    code, message, observed, limit = said
    kinds: dict[str, type[Warn | Refuse | Stop]] = {"warn": Warn, "refuse": Refuse, "stop": Stop}
    return GuardFired(
        seq=seq,
        at=datetime.fromisoformat(at),
        at_tool_call=used,
        verdict=kinds[kind](guard=guard, code=code, message=message, observed=observed, limit=limit),
    )


def _agrees(app: App, attempt_id: str, limits_json: str, spoken: list[list[Any]]) -> bool:
    limits = json.loads(limits_json or "{}")
    if "guards" not in limits:  # claimed, and cut off before it was described
        return False
    recorded = [_fired(*row) for row in spoken if row[0] is not None]
    differing = disagreements(
        app.graph.events(attempt_id),
        recorded,
        GuardLimits.model_validate({k: v for k, v in limits["guards"].items() if k in GuardLimits.model_fields}),
        limits["budget"],
        tuple(limits["allowedPaths"]),
        inherited_events(app.graph, attempt_id),
    )
    assert differing == (), f"{attempt_id}: {differing}"
    return True
