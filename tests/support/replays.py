"""Live and replay agree: every recorded attempt, folded again from the graph, gives the verdicts that were recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Any

from orchestrator.domain.events import Event, GuardFired
from orchestrator.domain.usage_limits import LEDGER
from orchestrator.domain.verdict import Refuse, Stop, Warn
from orchestrator.guards.limits import GuardLimits
from orchestrator.replay.history import inherited_events
from orchestrator.replay.replay import Fired, replay_attempt
from orchestrator.store.graph_store import GraphStore

_RECORDED = (
    "MATCH (a:Attempt) OPTIONAL MATCH (a)-[:TRIGGERED]->(g) WITH a, g ORDER BY g.seq "
    "RETURN a.id AS id, a.limitsJson AS limits, collect([g.seq, toString(g.at), g.atToolCall, g.guard, g.verdict, "
    "g.code, g.reason, g.observed, g.limit]) AS spoken"
)
_NOT_REPLAYED = (LEDGER, "names_only")  # the second is a guard of 0.1, which recorded it and acted on none of it


def assert_replay_agrees(graph: GraphStore) -> int:
    """Compare what the guards said live in every attempt of a graph with what they say over its recorded events; how
    many attempts there were."""
    return sum(_agrees(graph, *row) for row in graph.query(_RECORDED, {}).rows)


def disagreements(
    events: Sequence[Event],
    recorded: Sequence[GuardFired],
    limits: GuardLimits,
    budget: int,
    allowed_paths: tuple[str, ...],
    inherited: Sequence[Event] = (),
) -> tuple[str, ...]:
    """Where a replay under an attempt's own limits differs from the verdicts recorded with it; empty when the live
    guards and the replayed ones agree. The ledger's verdicts are no fold over one attempt and are left out, and so are
    those of guards that are no longer there and the wording, which another version may have changed."""
    live = [_compared(each) for each in recorded if each.verdict.guard not in _NOT_REPLAYED]
    again = replay_attempt(events, limits, budget, allowed_paths, inherited).fired
    pairs = zip_longest(live, map(_compared, again))
    return tuple(f"recorded {then}, replayed {now}" for then, now in pairs if then != now)


def _compared(fired: Fired | GuardFired) -> tuple[str | float, ...]:
    verdict = fired.verdict
    return verdict.guard, verdict.kind, verdict.code, verdict.observed, verdict.limit, fired.at_tool_call


def _fired(seq: int, at: str, used: int, guard: str, kind: str, *said: Any) -> GuardFired:
    code, message, observed, limit = said
    kinds: dict[str, type[Warn | Refuse | Stop]] = {"warn": Warn, "refuse": Refuse, "stop": Stop}
    return GuardFired(
        seq=seq,
        at=datetime.fromisoformat(at),
        at_tool_call=used,
        verdict=kinds[kind](guard=guard, code=code, message=message, observed=observed, limit=limit),
    )


def _agrees(graph: GraphStore, attempt_id: str, limits_json: str, spoken: list[list[Any]]) -> bool:
    limits = json.loads(limits_json or "{}")
    if "guards" not in limits:  # claimed, and cut off before it was described
        return False
    recorded = [_fired(*row) for row in spoken if row[0] is not None]
    differing = disagreements(
        graph.events(attempt_id),
        recorded,
        GuardLimits.model_validate({k: v for k, v in limits["guards"].items() if k in GuardLimits.model_fields}),
        limits["budget"],
        tuple(limits["allowedPaths"]),
        inherited_events(graph, attempt_id),
    )
    assert differing == (), f"{attempt_id}: {differing}"
    return True
