"""Making repositories for tests, with the real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from orchestrator.workspace.repository import UserRepository, discover

FILES = {
    "app/main.py": "print('hello')\n",
    "app/deep/er/leaf.txt": "leaf\n",
    "README.md": "# Sample\n",
    ".gitignore": "*.log\ncache/\n",
}


def git(folder: Path, *arguments: str) -> str:
    """Run git as a user would, with a fixed identity."""
    identity = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    environment = {"PATH": os.environ["PATH"]} | identity
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files by name."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def commit(folder: Path, files: dict[str, str], message: str = "work") -> str:
    """Write and commit files; the commit's id."""
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def make_repository(folder: Path) -> Path:
    """A repository with one commit on main and an identity of its own."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    commit(folder, FILES, "first")
    return folder.resolve()


def discovered(folder: Path) -> UserRepository:
    """The repository as the product finds it, without the tester's own git configuration."""
    return discover(folder, environment(folder))


def environment(folder: Path) -> dict[str, str]:
    """An environment with an empty home."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder.parent)}


def fingerprint(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file of a checkout, .git without our own home included: mode and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and relative.parts[:2] != (".git", "orchestrate"):
            found[str(relative)] = (path.stat().st_mode, path.read_bytes())
    return found
