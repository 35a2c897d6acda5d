"""Removing folders that a worker has had its hands on."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from orchestrator.domain.errors import WorkspaceError


def make_accessible(root: Path) -> None:
    """Undo a worker's chmod on its own files, so that they can be read and removed; follows no link."""
    subprocess.run(["chmod", "-R", "u+rwX", "--", str(root)], capture_output=True, check=False)


def remove_folder(folder: Path) -> None:
    """Remove a folder and all in it, whatever a worker did to its modes or however deep it nested; follows no link.
    Raises WorkspaceError when something stays."""
    if not folder.exists():
        return
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        make_accessible(folder)
        done = subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True, check=False)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise WorkspaceError(f"{folder} cannot be removed: {said}") from None
