"""What a person is to know of a run's work before they merge it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from orchestrator.cli.render.text import one_line
from orchestrator.gates.delivered import runs_later
from orchestrator.reports.ask import ask_graph

if TYPE_CHECKING:
    from orchestrator.app import App
    from orchestrator.domain.run import Run

_MOST_NAMED = 10


def merge_notes(app: App, run: Run | None) -> Iterator[str]:
    """Paths that tasks were granted beyond their own, and files that execute when the branch is built, tested,
    committed to or opened; nothing where nothing was accepted."""
    if run is None or run.head_commit == run.base_commit:
        return
    for row in ask_graph(app.graph, "granted_paths", run=run.id):
        paths = one_line(", ".join(row["paths"]), 200)
        yield f"While it worked, {one_line(row['task'])} was granted {paths} (decided by {one_line(row['decidedBy'])})."
    trees = (app.workspaces.tree_of(commit) for commit in (run.base_commit, run.head_commit))
    changes = app.workspaces.changes(*trees)
    found = runs_later(change.path for change in changes if change.status != "deleted")
    if found:
        more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        named = ", ".join(one_line(path, 200) for path in found[:_MOST_NAMED])
        yield f"Runs when you build, test, commit or open it, so read it first: {named}{more}"
