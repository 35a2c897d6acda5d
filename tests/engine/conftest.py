"""One Shadow for the whole module: a worktree of it costs milliseconds."""

from __future__ import annotations

import os

import pytest

from orchestrator.config.settings import SandboxSettings, Settings
from orchestrator.workspace.repository import discover
from orchestrator.workspace.sandbox import probe_sandbox
from orchestrator.workspace.workspaces import ShadowWorkspaces, open_workspaces
from tests.support.rig import made_repository


@pytest.fixture(scope="module")
def workspaces(tmp_path_factory: pytest.TempPathFactory) -> ShadowWorkspaces:
    """The Shadow of a small repository, commands in bubblewrap where the machine has it."""
    folder = tmp_path_factory.mktemp("loop")
    repository = made_repository(folder / "repository")
    sandbox = SandboxSettings(level="bubblewrap" if probe_sandbox("bubblewrap").works else "none")
    return open_workspaces(discover(repository, dict(os.environ)), folder / "home", Settings(sandbox=sandbox))
