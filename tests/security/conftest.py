"""Workspaces of a repository under each sandbox of this machine, for attacks that are run for real."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.workspace.sandbox import probe_sandbox
from orchestrator.workspace.workspaces import ShadowWorkspaces, open_workspaces
from orchestrator.workspace.worktree import Worktree
from tests.support.repositories import discovered, environment, make_repository

Opened = Callable[..., tuple[ShadowWorkspaces, Worktree]]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a few tracked files."""
    return make_repository(tmp_path / "project")


@pytest.fixture(params=["bubblewrap", "landlock"])
def level(request: pytest.FixtureRequest) -> str:
    """Each sandbox that this machine has."""
    tried = probe_sandbox(request.param)
    if not tried.works:
        pytest.skip(f"NOT TESTED HERE: {tried.reason}")
    return str(request.param)


@pytest.fixture
def opened(repository: Path, level: str) -> Iterator[Opened]:
    """Opens a worktree at HEAD, under settings of [workspace] and with further variables of the user."""
    with ExitStack() as stack:

        def open_one(folder: Path = repository, *, environ: dict[str, str] | None = None, **workspace: Any) -> Any:
            found = discovered(folder)
            settings = Settings.model_validate(
                {"sandbox": {"level": level, "memory_mb": 300}, "workspace": {"cache_mb": 0} | workspace}
            )
            environ = environment(folder) | (environ or {})
            workspaces = open_workspaces(found, found.home, settings, environ)
            head = workspaces.resolve("HEAD")
            return workspaces, stack.enter_context(closing(workspaces.open("attack", head, head=head)))

        yield open_one
