"""Live and replay agree: every recorded attempt, folded again from the graph, gives the verdicts that were recorded."""

from __future__ import annotations

import json
import os

from orchestrator.domain.events import Event
from orchestrator.domain.verdict import Allow
from orchestrator.gates.decision import continues
from orchestrator.guards.limits import GuardLimits
from orchestrator.guards.panel import Panel, replay
from orchestrator.wiring import App, open_app
from tests.stories.story import Story

Spoken = list[tuple[str, str, str]]


def assert_replay_agrees(story: Story) -> None:
    """Compare (guard, verdict, code) of each attempt's GuardEvents with those of a Panel over its recorded events."""
    recorded = story.ask(
        "MATCH (a:Attempt) OPTIONAL MATCH (a)-[:TRIGGERED]->(g) WITH a, g ORDER BY g.seq "
        "RETURN a.id AS id, a.limitsJson AS limits, collect([g.guard, g.verdict, g.code]) AS spoken"
    )
    with open_app(story.repository, {**os.environ, **story.environ}, flags={}, on_wait=print) as app:
        for row in recorded:
            limits = json.loads(row["limits"])
            panel = Panel.begin(
                GuardLimits.model_validate(limits["guards"]), limits["budget"], tuple(limits["allowedPaths"])
            )
            panel = replay(panel, _inherited(app, row["id"]))
            live = [tuple(entry) for entry in row["spoken"] if entry[0] is not None]
            assert _spoken(panel, app.graph.events(row["id"])) == live, row["id"]


def _inherited(app: App, attempt_id: str) -> tuple[Event, ...]:
    """The events of the attempts that were cut off before this one went on, oldest first."""
    follows = app.graph.attempt(attempt_id).follows
    if follows is None or not continues(app.graph.attempt(follows)):
        return ()
    return (*_inherited(app, follows), *app.graph.events(follows))


def _spoken(panel: Panel, events: tuple[Event, ...]) -> Spoken:
    said: Spoken = []
    for event in events:
        before = panel.stopped
        panel, verdicts = panel.judge(event)
        if before is None:
            said += [(v.guard, type(v).__name__.lower(), v.code) for v in verdicts if not isinstance(v, Allow)]
    return said
