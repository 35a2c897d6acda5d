"""Real repositories, a real Shadow and the real sandbox."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.config.settings import SandboxSettings, Settings
from orchestrator.workspace.sandbox import probe_sandbox
from orchestrator.workspace.workspaces import ShadowWorkspaces, open_workspaces
from orchestrator.workspace.worktree import Worktree
from tests.support.repositories import discovered, git, make_repository

INTERPRETER = (sys.prefix, sys.base_prefix)

OpenWorkspaces = Callable[..., ShadowWorkspaces]


@pytest.fixture(autouse=True)
def umask_of_a_user() -> Iterator[None]:
    """A usual umask, so that modes are the same everywhere."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a few tracked files."""
    return make_repository(tmp_path / "project")


@pytest.fixture
def workspaces(repository: Path) -> ShadowWorkspaces:
    """The Shadow of the repository, with the strongest sandbox of this machine."""
    found = discovered(repository)
    return open_workspaces(found, found.home, Settings())


@pytest.fixture
def workspace(workspaces: ShadowWorkspaces) -> Iterator[Worktree]:
    """A worktree at HEAD."""
    head = workspaces.resolve("HEAD")
    opened = workspaces.open("attempt1", head, head=head)
    yield opened
    opened.close()


@pytest.fixture(params=["bubblewrap", "landlock"])
def confined(request: pytest.FixtureRequest, repository: Path) -> Iterator[Worktree]:
    """A worktree whose commands run in each sandbox that this machine has."""
    tried = probe_sandbox(request.param)
    if not tried.works:
        pytest.skip(f"NOT TESTED HERE: {tried.reason}")
    found = discovered(repository)
    settings = Settings(
        sandbox=SandboxSettings(level=request.param, memory_mb=400, output_limit=1_000_000, read_paths=INTERPRETER)
    )
    opened_workspaces = open_workspaces(found, found.home, settings)
    opened = opened_workspaces.open("attempt1", found.head, head=opened_workspaces.resolve("HEAD"))
    yield opened
    opened.close()


__all__ = ["git"]
