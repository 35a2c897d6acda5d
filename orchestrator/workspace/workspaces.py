"""The Workspaces port: what the engine does with the Shadow of one repository."""

from __future__ import annotations

import os
import pwd
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from orchestrator.config.secrets import secrets_of
from orchestrator.config.settings import Settings
from orchestrator.domain import ports
from orchestrator.domain.errors import ToolError
from orchestrator.domain.progress import Phases, unshown
from orchestrator.domain.workspace import AbsentFile, FileChange
from orchestrator.workspace.absent import absent_files
from orchestrator.workspace.build_caches import BuildCaches, sweep_caches
from orchestrator.workspace.diff import changes
from orchestrator.workspace.filesystem import remove_if_free
from orchestrator.workspace.git import Git
from orchestrator.workspace.measured import MeasuredChecks, shared_state
from orchestrator.workspace.prepare import PREPARED, Preparation, Prepared
from orchestrator.workspace.repository import UserRepository, ensure_home
from orchestrator.workspace.sandbox import Sandbox, detect
from orchestrator.workspace.sandbox.bubblewrap import overlays
from orchestrator.workspace.sandbox.cache_layer import CacheLayer
from orchestrator.workspace.sandbox.environment import readable_paths, scrubbed, with_virtual_environment
from orchestrator.workspace.sandbox.sight import hidden_places, installations
from orchestrator.workspace.sandbox.spec import Mount, SandboxSpec
from orchestrator.workspace.shadow import Shadow
from orchestrator.workspace.shared_files import check_share, copy_shared_files, refused_folders, shared_folders
from orchestrator.workspace.snapshots import Snapshots
from orchestrator.workspace.trees import content_of, imported_in, restored_tree
from orchestrator.workspace.worktree import Worktree
from orchestrator.workspace.worktree_dir import WorktreeDir, safe_name

_UNMISTAKABLE = 16
"""Characters of a secret that no file holds by chance; a password may be an ordinary word."""

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

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the user should know of how commands are confined, and of what they do not see, in sentences."""
        refused = refused_folders(self.repository, self.settings) if self._mounts else ()
        return (*self.sandbox.remarks, *refused)

    def open(self, attempt_id: str, start: str, *, head: str, plan_id: str = "") -> Worktree:
        """A worktree with the content of `start`, HEAD at `head`; what `workspace.prepare` made is in it. Raises
        WorkspaceError when it cannot be made or a prepare command fails."""
        place = WorktreeDir(self.home, safe_name(attempt_id))
        with ExitStack() as held:
            prepared = self._prepared(start, head, held)
            held.push(place.make(start, head))
            caches = BuildCaches(self.home / "caches" / safe_name(plan_id or "none"), self.settings.workspace.cache_mb)
            box = replace(self._box(place, head, prepared), caches=self._layer(caches, place, held))
            objects = self.objects()
            anchor = f"refs/orchestrate/attempts/{place.name}"
            start_tree = self.tree_of(start)
            snapshots = Snapshots(place.git, place.files, objects, anchor, start_tree)
            return Worktree(
                place=place,
                snapshots=snapshots,
                objects=objects,
                sandbox=self.sandbox,
                box=box,
                plan_caches=caches,
                settings=self.settings,
                held=held.pop_all(),
                start=start_tree,
                again=lambda number: self.open(f"{attempt_id}:beside{number}", start, head=head, plan_id=plan_id),
                furnish=partial(self._box, place, head, prepared),
            )

    @property
    def measured(self) -> MeasuredChecks:
        """What commands showed over trees, in an environment like this one."""
        workspace, shares = self.settings.workspace, (self.repository.root / n for n in self.settings.workspace.share)
        told = {
            "sandbox": self.sandbox.level,
            "network": self.settings.sandbox.network,
            "environment": scrubbed(
                self.environ, self._real_home, workspace.env, network=self.settings.sandbox.network
            ),
            "prepare": workspace.prepare,
            "shared": [shared_state(path) for path in shares],
        }
        return MeasuredChecks(self.home / "measured", told)

    def absent_files(self) -> tuple[AbsentFile, ...]:
        """What tracked files need and git ignores, so that no workspace has it."""
        return absent_files(self.repository, self.settings)

    def files_of(self, commit: str) -> tuple[str, ...]:
        """The paths of a commit's files."""
        return _files_of(self.git_dir, self.resolve(commit))

    def changes(self, before: str, after: str) -> tuple[FileChange, ...]:
        """What differs between two trees."""
        return changes(self.objects(), before, after)

    def content(self, blob: str) -> bytes | None:
        """A file's bytes; None above a megabyte."""
        return content_of(self.objects(), blob)

    def restored(self, tree: str, start: str, paths: Collection[str]) -> str:
        """The tree with the paths as they are in `start`."""
        return restored_tree(self.git, self.home, tree, start, paths)

    def secrets_in(self, changes: Iterable[FileChange]) -> tuple[str, ...]:
        """The paths of those changes whose new content, as far as a megabyte, holds a long secret as it is."""
        values = secrets_of(self.settings, self.environ)
        secrets = [os.fsencode(value) for value in values if len(value) >= _UNMISTAKABLE]
        if not secrets:
            return ()
        written = ((change.path, self.content(change.blob)) for change in changes if change.blob)
        return tuple(path for path, content in written if content and any(secret in content for secret in secrets))

    def imported(self, tree: str, names: Collection[str]) -> frozenset[str]:
        """Which of the modules the Python files of a tree import."""
        return imported_in(self.git, tree, names)

    def sweep(self) -> None:
        """Remove the worktrees that no living process has open."""
        sweep_caches(self.home / "caches")
        folder = self.home / "worktrees"
        for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
            if not entry.name.startswith(PREPARED):
                remove_if_free(entry, WorktreeDir(self.home, entry.name).remove)

    def _prepared(self, start: str, head: str, held: ExitStack) -> Prepared | None:
        if not self.settings.workspace.prepare:
            return None
        base = self.resolve(self.repository.head)
        preparation = Preparation(self.home, self.sandbox, self.settings, self.phases, base)
        prepared = preparation.of(start, head, lambda place: self._box(place, head))
        held.push(prepared.held)
        return prepared

    def _layer(self, caches: BuildCaches, place: WorktreeDir, held: ExitStack) -> CacheLayer | None:
        """The workspace's own layer over what the plan has now, which stays for as long as the workspace is held."""
        if not self.settings.workspace.cache_mb:
            return None
        newest, kept = caches.newest()
        held.push(kept)
        overlaid = self._mounts and overlays(self.home)
        return CacheLayer(folder=place.caches, below=(newest,), overlaid=overlaid)

    def _box(self, place: WorktreeDir, head: str, prepared: Prepared | None = None) -> SandboxSpec:
        real_home = self._real_home
        made, shares = self._wanted(head, prepared)
        shared = tuple(mount for mount in (*made, *shares) if _make_place_for(place, mount, self.repository.root))
        copy_shared_files(self.repository, self.settings, place)
        if prepared and not self._mounts:
            prepared.copy_into(place)
        readable = readable_paths(  # what prepare made may be a worker's, and lead anywhere
            self.environ, real_home, self.settings.sandbox.read_paths, [mount.source / "bin/python" for mount in shares]
        )
        box = SandboxSpec(
            tree=place.tree,
            shown_root=self.repository.root,
            dotgit=place.dotgit,
            shadow=self.git_dir,
            scratch=place.scratch,
            masked=(self.repository.common_dir, self.home),
            environment=scrubbed(
                self.environ, real_home, self.settings.workspace.env, network=self.settings.sandbox.network
            ),
            shared=shared,
            readable=(*readable, *installations(self.environ, real_home, self.repository.root)),
            hidden=hidden_places(self.repository.root),
            real_home=real_home,
            network=self.settings.sandbox.network,
        )
        return _with_virtual_environment(box)

    @property
    def _real_home(self) -> Path:
        return Path(self.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)

    @property
    def _mounts(self) -> bool:
        return self.sandbox.level == "bubblewrap"

    def _wanted(self, head: str, prepared: Prepared | None) -> tuple[tuple[Mount, ...], tuple[Mount, ...]]:
        """What commands find beside the tracked files: what prepare made, and the user's own shared folders, unless
        the accepted content has something there itself."""
        if not self._mounts:
            return (), ()
        root = self.repository.root
        made = prepared.mounts(root) if prepared else ()
        taken = {mount.target for mount in made}
        shares = [mount for mount in shared_folders(self.repository, self.settings) if mount.target not in taken]
        names = [str(mount.target.relative_to(root)) for mount in shares]
        tracked = self.git("ls-tree", "-z", "--name-only", "--full-tree", head, "--", *names).fields() if names else ()
        return made, tuple(mount for mount, name in zip(shares, names, strict=True) if name not in tracked)


@lru_cache(maxsize=4)
def _files_of(git_dir: Path, commit: str) -> tuple[str, ...]:
    """Remembered, since each step of an attempt asks: a commit has the same files for ever."""
    return Git(git_dir=git_dir)("ls-tree", "-r", "-z", "--name-only", commit).fields()


def _make_place_for(place: WorktreeDir, mount: Mount, root: Path) -> bool:
    """Make the mount's place in the fresh checkout; False when tracked files have it, or a link leads away from it."""
    parts = mount.target.relative_to(root).parts
    try:
        if ".." in parts or place.files.stat(parts) is not None:
            return False
        if not mount.source.is_dir():
            place.files.write(parts, b"")
        return not mount.source.is_dir() or place.files.make_folder(parts)
    except ToolError:
        return False


def _with_virtual_environment(box: SandboxSpec) -> SandboxSpec:
    for name in _VIRTUAL_ENVIRONMENTS:
        for mount in box.shared:
            if mount.target == box.shown_root / name and (mount.source / "bin").is_dir():
                return replace(box, environment=with_virtual_environment(box.environment, mount.target))
    return box


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
    check_share(repository, settings)
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
