"""What the engine works with: the ports, the settings and the run, joined by wiring.py."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.domain.ports import (
    Clock,
    GraphReader,
    GraphWriter,
    Ids,
    Planner,
    Reviewer,
    Worker,
    Workspaces,
)
from orchestrator.domain.progress import Listener
from orchestrator.engine.halt import Halt
from orchestrator.settings import Settings


@dataclass(frozen=True)
class Parts:
    """Everything that an attempt, a review or a planning round needs from outside. `cancelled` is set once, with the
    reason, by the user's interrupt or by a failure that ends the run; every conversation looks at it between calls."""

    reader: GraphReader
    writer: GraphWriter
    workspaces: Workspaces
    planner: Planner
    worker: Worker
    reviewer: Reviewer
    clock: Clock
    ids: Ids
    settings: Settings
    listener: Listener
    cancelled: Halt = field(default_factory=Halt)
