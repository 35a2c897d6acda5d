"""The Workspaces port: what the engine does with the Shadow of one repository."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.config.settings import Settings
from orchestrator.domain import ports
from orchestrator.domain.errors import PathRefusedError, UserError
from orchestrator.domain.progress import Phases, unshown
from orchestrator.workspace.filesystem import remove_if_free
from orchestrator.workspace.paths import parts_of
from orchestrator.workspace.prepare import PREPARED, Preparation, Prepared
from orchestrator.workspace.repository import UserRepository, ensure_home
from orchestrator.workspace.sandbox import Sandbox, detect
from orchestrator.workspace.sandbox.environment import readable_paths, scrubbed, with_virtual_environment
from orchestrator.workspace.sandbox.spec import Mount, SandboxSpec
from orchestrator.workspace.shadow import Shadow
from orchestrator.workspace.snapshots import Snapshots
from orchestrator.workspace.worktree import Worktree
from orchestrator.workspace.worktree_dir import WorktreeDir, safe_name

_VIRTUAL_ENVIRONMENTS = (".venv", "venv")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowWorkspaces(Shadow, ports.Workspaces):
    """A Shadow with the sandbox over its worktrees: the Workspaces port. Threads and processes may use it at once."""

    sandbox: Sandbox
    settings: Settings
    environ: Mapping[str, str]
    phases: Phases = unshown

    @property
    def sandbox_level(self) -> str:
        """bubblewrap, landlock or none."""
        return self.sandbox.level

    def open(self, attempt_id: str, start: str, *, head: str) -> Worktree:
        """A worktree with the content of `start`, HEAD at `head`; what `workspace.prepare` made is in it. Raises
        WorkspaceError when it cannot be made or a prepare command fails."""
        place = WorktreeDir(self.home, safe_name(attempt_id))
        prepared = None
        if self.settings.workspace.prepare:
            prepared = Preparation(self.home, self.sandbox, self.settings, self.phases).of(start, head, self._box)
        with place.make(start, head) as held:
            box = self._box(place, prepared)
            objects = self.objects()
            anchor = f"refs/orchestrate/attempts/{place.name}"
            snapshots = Snapshots(place.git, place.files, objects, anchor, self.tree_of(start))
            return Worktree(
                place=place,
                snapshots=snapshots,
                objects=objects,
                sandbox=self.sandbox,
                box=box,
                settings=self.settings,
                held=held.pop_all(),
            )

    def files_of(self, commit: str) -> tuple[str, ...]:
        """The paths of a commit's files."""
        return self.git("ls-tree", "-r", "-z", "--name-only", self.resolve(commit)).fields()

    def sweep(self) -> None:
        """Remove the worktrees that no living process has open."""
        folder = self.home / "worktrees"
        for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
            if not entry.name.startswith(PREPARED):
                remove_if_free(entry, WorktreeDir(self.home, entry.name).remove)

    def _box(self, place: WorktreeDir, prepared: Prepared | None = None) -> SandboxSpec:
        real_home = Path(self.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)
        wanted = self._wanted(prepared)
        shared = tuple(mount for mount in wanted if _make_place_for(place, mount, self.repository.root))
        if prepared and not self._mounts:
            prepared.copy_into(place.tree)
        readable = readable_paths(
            self.environ, real_home, self.settings.sandbox.read_paths, [mount.source / "bin/python" for mount in shared]
        )
        box = SandboxSpec(
            tree=place.tree,
            shown_root=self.repository.root,
            dotgit=place.dotgit,
            shadow=self.git_dir,
            scratch=place.scratch,
            masked=(self.repository.common_dir, self.home),
            environment=scrubbed(self.environ, real_home, self.settings.workspace.env),
            shared=shared,
            readable=readable,
            real_home=real_home,
            network=self.settings.sandbox.network,
        )
        return _with_virtual_environment(box)

    @property
    def _mounts(self) -> bool:
        return self.sandbox.level == "bubblewrap"

    def _wanted(self, prepared: Prepared | None) -> tuple[Mount, ...]:
        """What commands find beside the tracked files: what prepare made, then the user's own shared folders."""
        if not self._mounts:
            return ()
        root = self.repository.root
        made = prepared.mounts(root) if prepared else ()
        taken = {mount.target for mount in made}
        shares = (root / name for name in self.settings.workspace.share)
        return made + tuple(Mount(path.resolve(), path) for path in shares if path.is_dir() and path not in taken)


def _make_place_for(place: WorktreeDir, mount: Mount, root: Path) -> bool:
    """Make the mount's place in the fresh checkout; False when tracked files have it."""
    parts = mount.target.relative_to(root).parts
    if ".." in parts or place.files.stat(parts) is not None:
        return False
    if mount.source.is_dir():
        return place.files.make_folder(parts)
    place.files.write(parts, b"")
    return True


def _with_virtual_environment(box: SandboxSpec) -> SandboxSpec:
    for name in _VIRTUAL_ENVIRONMENTS:
        for mount in box.shared:
            if mount.target == box.shown_root / name and (mount.source / "bin").is_dir():
                return replace(box, environment=with_virtual_environment(box.environment, mount.target))
    return box


def _check_share(settings: Settings) -> None:
    for name in settings.workspace.share:
        try:
            parts_of(name, "/nowhere")
        except PathRefusedError as error:
            way_out = "Name a folder of the repository, from its top level."
            raise UserError(f"workspace.share cannot hold {name!r}.", next_step=way_out) from error


def open_workspaces(
    repository: UserRepository,
    home: Path,
    settings: Settings,
    environ: Mapping[str, str] | None = None,
    phases: Phases = unshown,
) -> ShadowWorkspaces:
    """The Shadow of a repository under ORCHESTRATE_HOME, made on first use, with the sandbox that the settings ask for;
    `phases` shows what takes long.
    Raises UserError for a home that cannot be written, SandboxError for a level that cannot be had."""
    _check_share(settings)
    ensure_home(home)
    workspaces = ShadowWorkspaces(
        repository=repository,
        home=home,
        sandbox=detect(settings),
        settings=settings,
        environ=os.environ if environ is None else environ,
        phases=phases,
    )
    workspaces.ensure_made()
    return workspaces
