"""Values that a shell completes: task keys of the newest plan, names of saved queries.

Nothing is started for a press of a key: where the graph does not run, or anything is amiss, there is nothing to offer.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.domain.errors import OrchestrateError

if TYPE_CHECKING:
    from orchestrator.app import App

_PATIENCE_S = 1.0


def task_keys(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The keys of the newest plan's tasks."""
    from orchestrator.app import App

    folder = ctx.find_root().params.get("folder") or Path()
    flags = {"run.graph_wait_s": _PATIENCE_S}
    try:
        with App(folder.resolve(), os.environ, flags=flags, on_wait=lambda _message: None) as app:
            return [key for key in _keys(app) if key.startswith(incomplete)]
    except OrchestrateError:
        return []


def _keys(app: App) -> Sequence[str]:
    from orchestrator.store.embedded.server import embedded_status

    if not (os.environ.get("NEO4J_URI") or embedded_status(app.repository.home).running):
        return []
    newest = app.graph.newest_plan(app.repository.record.id)
    return [planned.task.key for planned in app.graph.plan(newest).tasks] if newest else []


def saved_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The names of the saved queries."""
    from orchestrator.reports.saved_queries import saved_queries

    return [name for name in saved_queries() if name.startswith(incomplete)]
