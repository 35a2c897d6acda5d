"""Whether the import name `agents` is ours: another package on PyPI has it too."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import orchestrator
from orchestrator.domain.errors import UserError


def foreign_agents() -> str | None:
    """Where `agents` comes from when it is not the one beside this package; None when it is ours."""
    found = find_spec("agents")
    ours = Path(orchestrator.__file__).resolve().parent.parent / "agents"
    where = Path(found.origin).resolve().parent if found and found.origin else None
    return None if where == ours else str(where or "nowhere")


def require_own_agents() -> None:
    """Raise UserError when `agents` is another package's."""
    if where := foreign_agents():
        raise UserError(
            f"The import name `agents` is taken by another package ({where}).",
            next_step="Install orchestrate in an environment of its own: `uv tool install orchestrate` or "
            "`pipx install orchestrate`.",
        )
