"""`workspace.prepare`: commands that make what a checkout lacks (installed packages), run once per hash of manifests
and lock files; what they leave in ignored places is shown read-only in every workspace of the same hash."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orchestrator.config.settings import Settings
from orchestrator.domain.errors import WorkspaceError
from orchestrator.domain.progress import Phases
from orchestrator.workspace.filesystem import disk, file_lock, replace_text
from orchestrator.workspace.git import Git
from orchestrator.workspace.sandbox import Sandbox
from orchestrator.workspace.sandbox.spec import CommandLimits, Mount, SandboxSpec
from orchestrator.workspace.worktree_dir import WorktreeDir

PREPARED = "prepared-"
"""How the folders of prepared worktrees begin; all share them, so sweep leaves them."""

_MANIFEST_NAMES = """
package.json package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb
pyproject.toml setup.py setup.cfg poetry.lock uv.lock pdm.lock Pipfile Pipfile.lock
environment.yml Cargo.toml Cargo.lock go.mod go.sum Gemfile Gemfile.lock composer.json
composer.lock pom.xml build.gradle build.gradle.kts gradle.lockfile mix.exs mix.lock
.python-version .nvmrc .node-version .tool-versions rust-toolchain.toml rust-toolchain
"""
_MANIFESTS = frozenset(_MANIFEST_NAMES.split())

_NOTE = "prepared.json"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the commands left in ignored places: paths from the top level, below `tree`."""

    tree: Path
    paths: tuple[str, ...]

    def mounts(self, shown_root: Path) -> tuple[Mount, ...]:
        """Each as a read-only mount."""
        return tuple(Mount(self.tree / path, shown_root / path) for path in self.paths)

    def copy_into(self, tree: Path) -> None:
        """Where nothing can be mounted: a copy."""
        for path in self.paths:
            source, target = self.tree / path, tree / path
            with disk(f"{target} cannot be copied from what workspace.prepare made"):
                target.parent.mkdir(parents=True, exist_ok=True)
                if source.is_dir():
                    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
                else:
                    shutil.copy2(source, target, follow_symlinks=False)


@dataclass(frozen=True, slots=True)
class Preparation:
    """The settings' commands, run in a worktree of their own under a lock, so once for all who need the result."""

    home: Path
    sandbox: Sandbox
    settings: Settings
    phases: Phases

    def of(self, start: str, head: str, box: Callable[[WorktreeDir], SandboxSpec]) -> Prepared:
        """The result for the content of `start`. Raises WorkspaceError with the output of a command that fails."""
        place = WorktreeDir(self.home, f"{PREPARED}{self._key(start)}")
        note = place.folder / _NOTE
        with file_lock(self.home / "prepare.lock"):
            if not note.exists():
                with place.make(start, head):
                    inside = box(place)
                    self._run(inside)
                    replace_text(note, json.dumps(_left(place, inside)))
        return Prepared(place.tree, tuple(json.loads(note.read_text())))

    def _key(self, start: str) -> str:
        listed = Git(git_dir=self.home / "shadow.git")("ls-tree", "-r", "-z", "--full-tree", start).fields()
        manifests = [entry for entry in listed if _is_manifest(entry.rpartition("\t")[2].rpartition("/")[2])]
        facts = [self.settings.workspace.model_dump(), self.settings.sandbox.network, self.sandbox.level, manifests]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    def _run(self, box: SandboxSpec) -> None:
        for command in self.settings.workspace.prepare:
            with self.phases(f"preparing the workspace: {command}"):
                result = self.sandbox.run(box, command, CommandLimits.of(self.settings))
            if result.exit_code != 0:
                how = result.detail or f"exit code {result.exit_code}"
                raise WorkspaceError(
                    f"The workspace.prepare command {command!r} failed: {how}\n{result.output[-2_000:]}".rstrip(),
                    next_step="Correct it, or allow the network if it needs it (sandbox.network).",
                )


def _left(place: WorktreeDir, box: SandboxSpec) -> list[str]:
    """The ignored files and folders, but for the places of shared ones."""
    listed = place.git("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory").fields()
    shared = {mount.target for mount in box.shared}
    return [path.rstrip("/") for path in listed if box.shown_root / path not in shared]


def _is_manifest(name: str) -> bool:
    pip = name.startswith(("requirements", "constraints")) and name.endswith(".txt")
    return pip or name in _MANIFESTS
