"""What the engine works with: the ports, the settings and the run, joined by app.py."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.config.settings import Settings
from orchestrator.domain.graph_ports import GraphReader, GraphWriter
from orchestrator.domain.live_text import LiveTexts, unwatched
from orchestrator.domain.ports import Clock, Ids, Planner, Verifier, Worker, Workspaces
from orchestrator.domain.progress import Listener
from orchestrator.engine.cancellation import CancelToken


@dataclass(frozen=True)
class Services:
    """Everything that an attempt, a review or a planning round needs from outside. `cancelled` is set once, with the
    reason, by the user's interrupt or by a failure that ends the run; every conversation looks at it between calls."""

    reader: GraphReader
    writer: GraphWriter
    workspaces: Workspaces
    planner: Planner
    worker: Worker
    verifier: Verifier
    clock: Clock
    ids: Ids
    settings: Settings
    listener: Listener
    cancelled: CancelToken = field(default_factory=CancelToken)
    live: LiveTexts = unwatched
