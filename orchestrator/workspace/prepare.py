"""`workspace.prepare`: commands that make what a checkout lacks (installed packages), run once for the user's commit
and once for each tree of other manifests; what they leave in ignored places is shown read-only in workspaces."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from orchestrator.config.settings import Settings
from orchestrator.domain.errors import ToolError, WorkspaceError
from orchestrator.domain.progress import Phases
from orchestrator.workspace.filesystem import file_lock, remove_folder, remove_if_free, replace_text, share_folder
from orchestrator.workspace.git import Git
from orchestrator.workspace.sandbox import Sandbox
from orchestrator.workspace.sandbox.cache_layer import copy_entry
from orchestrator.workspace.sandbox.spec import CommandLimits, Mount, SandboxSpec
from orchestrator.workspace.worktree_dir import WorktreeDir

PREPARED = "prepared-"
"""How the folders of worktrees begin that were prepared from the user's own commit: all share them, so sweep leaves
them."""
_TRIED = "tried-"
"""Of other trees: they go when nobody holds them any more."""

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
    """What the commands left in ignored places: paths from the top level of `place`, which is `held` for as long as
    they are used. What is there may be a worker's, so links are neither shown nor followed."""

    place: WorktreeDir
    paths: tuple[str, ...]
    held: ExitStack

    def mounts(self, shown_root: Path) -> tuple[Mount, ...]:
        """Each as a read-only mount."""
        return tuple(Mount(self.place.tree / path, shown_root / path) for path in self.paths)

    def copy_into(self, place: WorktreeDir) -> None:
        """Where nothing can be mounted: a copy of each, where the workspace has nothing of its own. Raises
        WorkspaceError, DiskFullError."""
        new = place.files.staging / "prepared"
        for path in self.paths:
            parts = tuple(path.split("/"))
            with suppress(ToolError):  # a link of the tree is in the way
                if place.files.stat(parts) is None:
                    copy_entry(self.place.tree / path, new)
                    place.files.adopt(parts, new)
            remove_folder(new)


@dataclass(frozen=True, slots=True)
class Preparation:
    """The settings' commands, run in a worktree of their own under a lock, so once for all who need the result.

    They may run what is in the tree. So what every run shares is made of `base`, the user's own commit, wherever the
    manifests are as there. What is made of other manifests belongs to the tree that it was made of, whole, and goes
    with the last workspace that uses it."""

    home: Path
    sandbox: Sandbox
    settings: Settings
    phases: Phases
    base: str

    def of(self, start: str, head: str, box: Callable[[WorktreeDir], SandboxSpec]) -> Prepared:
        """The result for the content of `start`. Raises WorkspaceError with the output of a command that fails."""
        place, content = self._place(start, head)
        note = place.folder / _NOTE
        while True:
            with file_lock(self.home / "prepare.lock"):
                if not note.exists():
                    with place.make(content, head):
                        inside = box(place)
                        self._run(inside)
                        replace_text(note, json.dumps(_left(place, inside)))
                if held := share_folder(place.folder):
                    left = tuple(path for path in json.loads(note.read_text()) if _is_real(place, path))
                    return Prepared(place, left, _with_removal(place, held))

    def _place(self, start: str, head: str) -> tuple[WorktreeDir, str]:
        """Where the result is, and the content that it is made of: the first whose manifests are those of `start`."""
        git_dir = str(self.home / "shadow.git")
        wanted = _manifests(git_dir, start)
        content = next(content for content in (self.base, head, start) if _manifests(git_dir, content) == wanted)
        facts = [self.settings.workspace.model_dump(), self.settings.sandbox.network, self.sandbox.level, wanted]
        shared = content == self.base
        facts.append("base" if shared else Git(git_dir=Path(git_dir))("rev-parse", f"{content}^{{tree}}").text)
        key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
        return WorktreeDir(self.home, f"{PREPARED if shared else _TRIED}{key}"), content

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


def _with_removal(place: WorktreeDir, held: ExitStack) -> ExitStack:
    """To be closed by who uses the place; the last one removes it, unless all share it."""
    with ExitStack() as closing:
        if not place.name.startswith(PREPARED):
            closing.callback(remove_if_free, place.folder, place.remove)
        closing.push(held)
        return closing.pop_all()


def _left(place: WorktreeDir, box: SandboxSpec) -> list[str]:
    """The ignored files and folders, but for the places of shared ones."""
    listed = place.git("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory").fields()
    shared = {mount.target for mount in box.shared}
    return [path.rstrip("/") for path in listed if box.shown_root / path not in shared]


def _is_real(place: WorktreeDir, path: str) -> bool:
    """Whether it is a file or a folder of the place, not a link out of it nor below one."""
    try:
        found = place.files.stat(tuple(path.split("/")))
    except ToolError:
        return False
    return found is not None and (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode))


@lru_cache(maxsize=64)
def _manifests(git_dir: str, content: str) -> tuple[str, ...]:
    """The manifests of a commit or tree, each with its hash."""
    listed = Git(git_dir=Path(git_dir))("ls-tree", "-r", "-z", "--full-tree", content).fields()
    return tuple(entry for entry in listed if _is_manifest(entry.rpartition("\t")[2].rpartition("/")[2]))


def _is_manifest(name: str) -> bool:
    pip = name.startswith(("requirements", "constraints")) and name.endswith(".txt")
    return pip or name in _MANIFESTS
