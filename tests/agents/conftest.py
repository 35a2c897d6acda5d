"""A real workspace over a real repository, for tools and sessions."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.config.settings import SandboxSettings, Settings
from orchestrator.domain.ports import Workspace
from orchestrator.workspace.repository import discover
from orchestrator.workspace.sandbox import probe_sandbox
from orchestrator.workspace.workspaces import open_workspaces
from tests.support.chat_world import World, world

FILES = {
    "app/main.py": "def add(a, b):\n    return a - b\n\n\ndef twice(a):\n    return a * 2\n",
    "app/empty.py": "",
    "README.md": "# Sample\n\nAdds numbers.\n",
    "win.txt": "one\r\ntwo\r\nthree\r\n",
}


def _git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit of a few files."""
    root = tmp_path / "repository"
    for name, text in FILES.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    (root / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    _git(root, "init", "-q", "-b", "main")
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", "Start")
    return root


@pytest.fixture
def workspace(repository: Path, tmp_path: Path) -> Iterator[Workspace]:
    """A worktree of its Shadow, commands in bubblewrap where the machine has it."""
    sandbox = SandboxSettings(level="bubblewrap" if probe_sandbox("bubblewrap").works else "none")
    settings = Settings(sandbox=sandbox)
    opened = open_workspaces(discover(repository, dict(os.environ)), tmp_path / "home", settings)
    head = opened.resolve("HEAD")
    worktree = opened.open("attempt1", head, head=head)
    yield worktree
    worktree.close()


@pytest.fixture
def desk() -> Iterator[World]:
    """A model that has nothing to say."""
    with world({"text": "ok"}, then="repeat") as made:
        yield made
