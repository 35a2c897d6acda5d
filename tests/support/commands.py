"""Commands of a worktree under other bounds, and what is left of them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.domain.workspace import CommandResult
from orchestrator.workspace.sandbox.spec import CommandLimits
from orchestrator.workspace.worktree import Worktree


def limited(workspace: Worktree, command: str, **bounds: Any) -> CommandResult:
    """Run a command with some bounds changed."""
    usual = CommandLimits.of(workspace.settings)
    return workspace.sandbox.run(workspace.box, command, replace(usual, **bounds))


def alive(marker: str) -> list[int]:
    """Processes whose command line holds the marker."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                if marker.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def is_bubblewrap(workspace: Worktree) -> bool:
    """Whether the worktree is mounted over the repository's own path."""
    return workspace.sandbox.level == "bubblewrap"
