"""What `orchestrate demo` works on: a sample repository, the plan that its PM submits, and the script of its model."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import yaml

from orchestrator.domain.errors import UserError, WorkspaceError

# What each task must have come to when the demo went as told: its status and how its attempts ended.
EXPECTED: Mapping[str, tuple[str, int]] = {
    "median": ("completed", 1),
    "report": ("completed", 2),
    "durations": ("failed", 2),
    "average-duration": ("blocked", 0),
}
_IDENTITY = (
    *("-c", "user.name=orchestrate demo", "-c", "user.email=demo@orchestrate.invalid"),
    *("-c", "commit.gpgsign=false"),
)


def plan() -> dict[str, Any]:
    """The demo's plan as the plan file's object."""
    loaded: dict[str, Any] = yaml.safe_load((files(__name__) / "plan.yaml").read_text())
    return loaded


def script() -> dict[str, Any]:
    """The scripted model's script: the PM submits the plan, workers and QC answer as script.yaml says."""
    loaded: dict[str, Any] = yaml.safe_load((files(__name__) / "script.yaml").read_text())
    planner = {
        "when": {"role": "planner"},
        "replies": [
            {"text": "I look at the repository first.", "call": {"tool": "list_files", "arguments": {}}},
            {"call": {"tool": "read_file", "arguments": {"path": "tally/basic.py"}}},
            {"call": {"tool": "submit_plan", "arguments": plan()}},
        ],
    }
    return {**loaded, "conversations": [planner, *loaded["conversations"]]}


def make_sample(folder: Path) -> None:
    """Put the sample repository, with one commit, into a folder that is new or empty. Raises UserError when it is
    neither."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(
            f"{folder} is not empty.",
            next_step=f"Name a new folder: `orchestrate demo --into {shlex.quote(f'{folder}-2')}`.",
        )
    try:
        with as_file(files(__name__) / "sample") as sample:
            copytree(sample, folder, dirs_exist_ok=True, ignore=ignore_patterns("__pycache__"))
        (folder / ".gitignore").write_text("__pycache__/\n")
    except OSError as error:
        raise UserError(f"The sample cannot be written to {folder}: {error.strerror or error}.") from error
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _git(folder, "add", "--all")
    _git(folder, *_IDENTITY, "commit", "--quiet", "--message", "tally: sums and means")


def _git(folder: Path, *arguments: str) -> None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise UserError("git is not installed.", next_step="Install git 2.38 or later.") from error
    if done.returncode != 0:
        raise WorkspaceError(f"git {arguments[0]} failed in {folder}: {done.stderr.strip()}")
